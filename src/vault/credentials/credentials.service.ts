import { Inject, Injectable } from '@nestjs/common';
import { KEY_RING, type KeyRing } from '../../platform/crypto/key-ring.ts';
import { violatedConstraint } from '../../platform/db/database-errors.ts';
import { invariant } from '../../platform/faults/faults.ts';
import { newId } from '../../platform/ids/ids.ts';
import type { In, OpContext, Out } from '../../platform/operation/operation.ts';
import { credentialView } from './credential-view.policy.ts';
import type {
  createCredential,
  deleteCredential,
  getCredential,
  listCredentials,
  replaceCredentialValue,
  updateCredential,
} from './credentials.contract.ts';
import { CredentialNameTaken, CredentialNotFound } from './credentials.faults.ts';
import {
  findCredentialRow,
  insertCredential,
  insertValue,
  isCredentialName,
  listCredentialRows,
  removeCredential,
  setMetadata,
  takeNextVersion,
  valueBinding,
} from './credentials.store.ts';
import { partNames, readValue } from './value.policy.ts';

type Metadata = Out<typeof getCredential>;

/**
 * Secrets that are stored for agents. A value comes in and goes out to workers only; every change of one is a new version, and
 * the versions before stay sealed until no run can echo them.
 */
@Injectable()
export class StoredCredentials {
  constructor(@Inject(KEY_RING) private readonly keyRing: KeyRing) {}

  async list(ctx: OpContext): Promise<Out<typeof listCredentials>> {
    return (await listCredentialRows(ctx)).map(credentialView);
  }

  async get(ctx: OpContext, { credential_id }: In<typeof getCredential>): Promise<Metadata> {
    const row = await findCredentialRow(ctx, credential_id);
    if (!row) throw CredentialNotFound();
    return credentialView(row);
  }

  /** Whether a credential has this name. */
  async isName(ctx: OpContext, name: string): Promise<boolean> {
    return isCredentialName(ctx, name);
  }

  /** @throws Fault 409 `credential.name_taken`. */
  async create(ctx: OpContext, wanted: In<typeof createCredential>): Promise<Metadata> {
    const { name, value, description = null, owner = null, labels = {} } = wanted;
    const id = newId('credential', ctx.now.getTime());
    const keys = partNames(readValue(value));
    try {
      await insertCredential(ctx, { id, name, description, owner, labels, keys });
    } catch (error) {
      if (violatedConstraint(error) !== 'credential_account_id_name_key') throw error;
      throw CredentialNameTaken({ cause: error });
    }
    await this.keep(ctx, id, 1, value);
    ctx.note({ target_id: id, name, keys });
    return this.shown(ctx, id);
  }

  async update(ctx: OpContext, change: In<typeof updateCredential>): Promise<Metadata> {
    const { credential_id: id } = change;
    const before = await findCredentialRow(ctx, id);
    if (!before || !(await setMetadata(ctx, id, change))) throw CredentialNotFound();
    const after = await this.shown(ctx, id);
    const named = ({ description, owner, labels, status }: Metadata) => ({ description, owner, labels, status });
    ctx.note({ name: before.name, before: named(credentialView(before)), after: named(after) });
    return after;
  }

  async delete(ctx: OpContext, { credential_id }: In<typeof deleteCredential>): Promise<void> {
    const removed = await removeCredential(ctx, credential_id);
    if (!removed) throw CredentialNotFound();
    ctx.note({ name: removed.name, bound_agents: removed.bound_agents });
  }

  async replace(ctx: OpContext, { credential_id: id, value }: In<typeof replaceCredentialValue>): Promise<Metadata> {
    const keys = partNames(readValue(value));
    const version = await takeNextVersion(ctx, id, keys);
    if (version === undefined) throw CredentialNotFound();
    await this.keep(ctx, id, version, value);
    const after = await this.shown(ctx, id);
    ctx.note({ name: after.name, version, keys });
    return after;
  }

  private async keep(ctx: OpContext, id: string, version: number, value: string): Promise<void> {
    const sealed = this.keyRing.seal(value, valueBinding(ctx.actor.accountId, id, version));
    await insertValue(ctx, id, version, sealed);
  }

  private async shown(ctx: OpContext, id: string): Promise<Metadata> {
    const row = await findCredentialRow(ctx, id);
    invariant(row, 'a credential that was just written is there');
    return credentialView(row);
  }
}
