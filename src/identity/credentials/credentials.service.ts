import { Inject, Injectable } from '@nestjs/common';
import { Clock } from '../../platform/clock/clock.ts';
import { CONFIG, type Config } from '../../platform/config/config.ts';
import { hashOf } from '../../platform/crypto/secrets.ts';
import { Database } from '../../platform/db/database.ts';
import type { Actor } from '../../platform/operation/actor.ts';
import { Identifier, type Presented } from '../../platform/operation/ports.ts';
import { LastUse } from '../last-use/last-use.sweep.ts';
import { CredentialWatch } from '../watch/watch.service.ts';
import { AccountSuspended, AuthExpired, AuthInvalid, AuthMissing, AuthRevoked } from './credentials.faults.ts';
import { findCredential, findOwner, findValid, type CredentialRow } from './credentials.store.ts';

interface Known {
  readonly actor: Actor;
  /** On the clock that only goes forward. */
  readonly expiresAtMs: number;
}

const KNOWN_MAX = 50_000;
/** No hash is empty. */
const OWNER = '';

/**
 * Finds out who is calling. What opened once is remembered by the hash of its secret, for as long as the watch vouches
 * that nothing was taken back meanwhile; a refusal is never remembered.
 */
@Injectable()
export class Credentials extends Identifier {
  /** Both are replaced, not emptied: a look that began before an eviction then ends in the maps that nobody reads. */
  private known = new Map<string, Known>();
  private looks = new Map<string, Promise<Known>>();
  /** Outlives evictions: whose a credential was is no secret to be taken back, and opens nothing. */
  private readonly accounts = new Map<string, string>();

  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(CredentialWatch) private readonly watch: CredentialWatch,
    @Inject(LastUse) private readonly lastUse: LastUse,
    @Inject(Clock) private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Config,
  ) {
    super();
    watch.onChange(() => this.forget());
  }

  async identify({ bearer }: Presented): Promise<Actor> {
    if (bearer === undefined && this.config.auth === 'on') throw AuthMissing();
    const hash = bearer === undefined ? undefined : hashOf(bearer);
    const key = keyOf(hash);
    const { actor } = await this.recall(key, () =>
      hash ? findCredential(this.database, hash) : findOwner(this.database),
    );
    if (hash) this.lastUse.note(actor);
    return actor;
  }

  accountOf({ bearer }: Presented): string | undefined {
    return this.accounts.get(keyOf(bearer === undefined ? undefined : hashOf(bearer)));
  }

  /** Those of `credentialIds` (API keys and worker tokens) that open something now: for whoever holds streams open under them. */
  async valid(credentialIds: readonly string[]): Promise<Set<string>> {
    return new Set(credentialIds.length === 0 ? [] : await findValid(this.database, credentialIds));
  }

  private async recall(key: string, find: () => Promise<CredentialRow | undefined>): Promise<Known> {
    if (!this.watch.isCurrent()) return this.look(key, find);
    const known = this.known.get(key);
    if (known && known.expiresAtMs > this.clock.monotonicMs()) return known;
    const { looks } = this;
    const under = looks.get(key);
    if (under) return under;
    const look = this.look(key, find).finally(() => looks.delete(key));
    looks.set(key, look);
    return look;
  }

  private async look(key: string, find: () => Promise<CredentialRow | undefined>): Promise<Known> {
    const { known } = this;
    const askedAtMs = this.clock.monotonicMs();
    const row = await find();
    const found = { actor: actorOf(row), expiresAtMs: askedAtMs + (row?.expiresInMs ?? Number.POSITIVE_INFINITY) };
    keep(known, key, found);
    keep(this.accounts, key, found.actor.accountId);
    return found;
  }

  private forget(): void {
    this.known = new Map();
    this.looks = new Map();
  }
}

function keyOf(hash: Uint8Array | undefined): string {
  return hash ? Buffer.from(hash).toString('base64') : OWNER;
}

/** Lets go of the oldest where it would be too many. */
function keep<Value>(map: Map<string, Value>, key: string, value: Value): void {
  const oldest = map.size >= KNOWN_MAX ? map.keys().next().value : undefined;
  if (oldest !== undefined) map.delete(oldest);
  map.set(key, value);
}

/** @throws Fault for what opens nothing. */
function actorOf(row: CredentialRow | undefined): Actor {
  if (!row) throw AuthInvalid();
  if (row.isRevoked) throw AuthRevoked();
  if (row.expiresInMs !== null && row.expiresInMs <= 0) throw AuthExpired();
  if (!row.isAccountActive) throw AccountSuspended();
  const { kind, accountId, credentialId, scopes } = row;
  return { kind, id: row.holderId, accountId, credentialId, scopes, agentHandle: row.handle ?? undefined };
}
