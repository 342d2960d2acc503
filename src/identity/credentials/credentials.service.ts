import { Inject, Injectable, type BeforeApplicationShutdown } from '@nestjs/common';
import { Clock } from '../../platform/clock/clock.ts';
import { CONFIG, type Config } from '../../platform/config/config.ts';
import { hashOf } from '../../platform/crypto/secrets.ts';
import { Database } from '../../platform/db/database.ts';
import { Fault } from '../../platform/faults/faults.ts';
import type { Actor } from '../../platform/operation/actor.ts';
import { Identifier, type Presented } from '../../platform/operation/ports.ts';
import { LastUse } from '../last-use/last-use.sweep.ts';
import { CredentialWatch } from '../watch/watch.service.ts';
import {
  AccountSuspended,
  AuthExpired,
  AuthInvalid,
  AuthMissing,
  AuthRevoked,
  AuthThrottled,
} from './credentials.faults.ts';
import { findCredential, findOwner, findValid, type CredentialRow } from './credentials.store.ts';
import { Suspects } from './suspects.policy.ts';

interface Known {
  readonly actor: Actor;
  /** On the clock that only goes forward. */
  readonly expiresAtMs: number;
}

type Find = () => Promise<CredentialRow | undefined>;

const KNOWN_MAX = 50_000;
/** Looks that may wait for their turn in the lane of suspect addresses. */
const LANE_MAX = 200;
const LANE_RETRY_SECONDS = 5;
/** How many may wait for a refusal: each is an open request and nothing else. */
const WAITING_MAX = 2_000;
/** No hash is empty. */
const OWNER = '';

/**
 * Finds out who is calling. What opened once is remembered by the hash of its secret, for as long as the watch vouches
 * that nothing was taken back meanwhile; a refusal is never believed again without a look.
 *
 * From an address whose credentials keep opening nothing, secrets that never opened anything here are looked up one after
 * the other, so strangers get at one connection at most, and refused a second later. A secret that did open something goes
 * past them, and one that does is never delayed: nobody can lock out a worker, not even from its own address.
 */
@Injectable()
export class Credentials extends Identifier implements BeforeApplicationShutdown {
  /** Both are replaced, not emptied: a look that began before an eviction then ends in the maps that nobody reads. */
  private known = new Map<string, Known>();
  private looks = new Map<string, Promise<Known>>();
  /** Outlives evictions: whose a credential was is no secret to be taken back, and opens nothing. */
  private readonly accounts = new Map<string, string>();
  /** Those that were refused since they last opened something. */
  private readonly dead = new Set<string>();
  private readonly suspects = new Suspects();
  /** Ends with the last look that waits in it. */
  private lane: Promise<unknown> = Promise.resolve();
  private inLane = 0;
  private waiting = 0;
  private readonly leaving = new AbortController();

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

  async identify({ bearer, address }: Presented): Promise<Actor> {
    if (bearer === undefined && this.config.auth === 'on') throw AuthMissing();
    const hash = bearer === undefined ? undefined : hashOf(bearer);
    if (!hash) return (await this.recall(OWNER, () => findOwner(this.database))).actor;
    const key = keyOf(hash);
    const find = (): Promise<CredentialRow | undefined> => findCredential(this.database, hash);
    try {
      const { actor } = await this.recall(key, () => this.findInTurn(key, address, find));
      this.lastUse.note(actor);
      return actor;
    } catch (error) {
      if (error instanceof Fault) await this.refused(error, key, address);
      throw error;
    }
  }

  accountOf({ bearer }: Presented): string | undefined {
    return this.accounts.get(keyOf(bearer === undefined ? undefined : hashOf(bearer)));
  }

  /** Those of `credentialIds` (API keys and worker tokens) that open something now: for whoever holds streams open under them. */
  async valid(credentialIds: readonly string[]): Promise<Set<string>> {
    return new Set(credentialIds.length === 0 ? [] : await findValid(this.database, credentialIds));
  }

  /** Whoever waits for a refusal has it before the replica goes. */
  beforeApplicationShutdown(): void {
    this.leaving.abort();
  }

  private async findInTurn(key: string, address: string, find: Find): Promise<CredentialRow | undefined> {
    const isTrusted = this.accounts.has(key) && !this.dead.has(key);
    if (isTrusted || !this.suspects.isSuspect(address, this.clock.monotonicMs())) return find();
    if (this.inLane >= LANE_MAX) throw AuthThrottled({ retryAfterSeconds: LANE_RETRY_SECONDS });
    this.inLane += 1;
    const found = this.lane.then(find).finally(() => (this.inLane -= 1));
    this.lane = found.catch(() => {});
    return found;
  }

  private async refused({ type }: Fault, key: string, address: string): Promise<void> {
    const now = this.clock.monotonicMs();
    const isSuspect = this.suspects.isSuspect(address, now);
    if (type !== AuthThrottled) {
      this.suspects.noteRefusal(address, now);
      if (this.dead.size >= KNOWN_MAX) this.dead.clear();
      if (this.accounts.has(key)) this.dead.add(key);
    }
    if (!isSuspect || this.waiting >= WAITING_MAX) return;
    this.waiting += 1;
    await this.clock
      .sleep(this.config.refusalWaitSeconds * 1_000, this.leaving.signal)
      .finally(() => (this.waiting -= 1));
  }

  private async recall(key: string, find: Find): Promise<Known> {
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

  private async look(key: string, find: Find): Promise<Known> {
    const { known } = this;
    const askedAtMs = this.clock.monotonicMs();
    const row = await find();
    const found = { actor: actorOf(row), expiresAtMs: askedAtMs + (row?.expiresInMs ?? Number.POSITIVE_INFINITY) };
    keep(known, key, found);
    keep(this.accounts, key, found.actor.accountId);
    this.dead.delete(key);
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
  const oldest = map.size >= KNOWN_MAX && !map.has(key) ? map.keys().next().value : undefined;
  if (oldest !== undefined) map.delete(oldest);
  map.set(key, value);
}

/** @throws Fault for what opens nothing. */
function actorOf(row: CredentialRow | undefined): Actor {
  if (!row) throw AuthInvalid();
  if (row.isRevoked) throw AuthRevoked();
  if (row.expiresInMs !== null && row.expiresInMs <= 0) throw AuthExpired();
  if (!row.isAccountActive) throw AccountSuspended();
  const { kind, accountId, credentialId, scopes, isSystemAdmin, userId } = row;
  return {
    kind,
    id: row.holderId,
    accountId,
    credentialId,
    scopes,
    agentHandle: row.handle ?? undefined,
    isSystemAdmin,
    userId: userId ?? undefined,
  };
}
