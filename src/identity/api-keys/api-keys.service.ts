import { Inject, Injectable } from '@nestjs/common';
import { wireTime } from '../../platform/clock/clock.ts';
import { CONFIG, type Config } from '../../platform/config/config.ts';
import { KEY_RING, type KeyRing } from '../../platform/crypto/key-ring.ts';
import { hashOf, newSecret } from '../../platform/crypto/secrets.ts';
import { invalid, invariant } from '../../platform/faults/faults.ts';
import { newId } from '../../platform/ids/ids.ts';
import { later, type Later } from '../../platform/operation/later.ts';
import type { In, OpContext, Out } from '../../platform/operation/operation.ts';
import { RoleAssigner } from '../../platform/operation/ports.ts';
import { AccessDenied } from '../../platform/operation/runner.ts';
import { AccessEscalation } from '../credentials/credentials.faults.ts';
import { CredentialWatch } from '../watch/watch.service.ts';
import type { createApiKey, listApiKeys, revealApiKey, revokeApiKey } from './api-keys.contract.ts';
import { ApiKeyNotFound, ApiKeyNotRecoverable } from './api-keys.faults.ts';
import { areScopesWithin, readMoment } from './api-keys.policy.ts';
import {
  findKey,
  findSealed,
  hasServiceAccount,
  insertKey,
  insertServiceAccount,
  listKeys,
  markRevoked,
  sealedFor,
  type ApiKeyRow,
} from './api-keys.store.ts';

type Wanted = In<typeof createApiKey>;
type View = Out<typeof listApiKeys>[number];

/** Bearer keys of people and service accounts. Only the hash of a secret is kept, and for some minutes a sealed copy. */
@Injectable()
export class ApiKeys {
  constructor(
    @Inject(KEY_RING) private readonly keyRing: KeyRing,
    @Inject(RoleAssigner) private readonly roles: RoleAssigner,
    @Inject(CredentialWatch) private readonly watch: CredentialWatch,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  async create(ctx: OpContext, wanted: Wanted): Promise<Out<typeof createApiKey>> {
    const { name, scopes = [], expires_at: expiresText = null } = wanted;
    if (!areScopesWithin(scopes, ctx.actor.scopes)) {
      throw AccessEscalation({ message: 'A key must not reach further than the key that makes it: name its scopes' });
    }
    const principalId = await this.principalFor(ctx, wanted);
    const id = newId('apiKey', ctx.now.getTime());
    const key = newSecret('sk');
    const sealed = this.keyRing.seal(key, sealedFor(ctx.actor.accountId, id));
    const expiresAt = expiresText === null ? null : (readMoment(expiresText) ?? null);
    await insertKey(ctx, { id, principalId, name, scopes, secretHash: hashOf(key), sealed, expiresText, expiresAt });
    const { bound_to, role_ids = [] } = wanted;
    ctx.note({ target_id: id, name, principal_id: principalId, bound_to, role_ids, scopes, expires_at: expiresText });
    const row = await findKey(ctx, id);
    invariant(row, 'a key that was just made is there');
    return { ...viewOf(row), key };
  }

  async list(ctx: OpContext): Promise<View[]> {
    return (await listKeys(ctx)).map(viewOf);
  }

  /** Repeated, it waits again: the answer to the first call may have been lost before every replica knew. */
  async revoke(ctx: OpContext, { key_id }: In<typeof revokeApiKey>): Promise<Later<Out<typeof revokeApiKey>>> {
    if (!(await markRevoked(ctx, key_id))) throw ApiKeyNotFound();
    const version = await this.watch.change(ctx);
    return later(async () => {
      await this.watch.settled(version);
      return { id: key_id, status: 'revoked' };
    });
  }

  async reveal(ctx: OpContext, { key_id }: In<typeof revealApiKey>): Promise<Out<typeof revealApiKey>> {
    const row = await findSealed(ctx, key_id, this.config.keyRevealMinutes * 60);
    if (!row) throw ApiKeyNotFound();
    if (row.createdBy !== ctx.actor.id) throw AccessDenied({ message: 'Only whoever made this key may see it again' });
    if (!row.isFresh || !row.sealed || row.sealedKeyId === null) throw ApiKeyNotRecoverable();
    const sealed = { keyId: row.sealedKeyId, bytes: row.sealed };
    return { key: this.keyRing.open(sealed, sealedFor(ctx.actor.accountId, key_id)) };
  }

  /** Who the key will act as. */
  private async principalFor(ctx: OpContext, wanted: Wanted): Promise<string> {
    const { bound_to, service_account_id: existing = null, role_ids: roleIds = [], name } = wanted;
    if (roleIds.length > 0 && (bound_to === 'user' || existing !== null)) {
      throw invalid(['body', 'role_ids'], 'are for a service account that is made together with the key');
    }
    if (bound_to === 'user') return callerFor(ctx, existing);
    const id = existing ?? newId('principal', ctx.now.getTime());
    if (existing === null) await insertServiceAccount(ctx, id, name);
    else if (!(await hasServiceAccount(ctx, existing))) {
      throw invalid(['body', 'service_account_id'], 'There is no such service account', 'unknown_reference');
    }
    await this.roles.assign(ctx, id, roleIds, ['body', existing === null ? 'role_ids' : 'service_account_id']);
    return id;
  }
}

function callerFor({ actor }: OpContext, serviceAccountId: string | null): string {
  if (actor.kind !== 'person') throw invalid(['body', 'bound_to'], 'Only a person can have a key of their own');
  if (serviceAccountId !== null) {
    throw invalid(['body', 'service_account_id'], 'A key of a person has no service account');
  }
  return actor.id;
}

function viewOf(row: ApiKeyRow): View {
  const isPerson = row.principalKind === 'person';
  return {
    id: row.id,
    name: row.name,
    scopes: row.scopes,
    status: row.isRevoked ? 'revoked' : 'active',
    principal_id: row.principalId,
    bound_to: isPerson ? 'user' : 'service_account',
    created_at: wireTime(row.createdAt),
    expires_at: row.expiresText,
    last_used_at: row.lastUsedAt && wireTime(row.lastUsedAt),
    owner_label: isPerson ? (row.principalEmail ?? row.principalName) : null,
    service_account_name: isPerson ? null : row.principalName,
  };
}
