import { Inject, Injectable } from '@nestjs/common';
import { Clock } from '../../platform/clock/clock.ts';
import { CONFIG, type Config } from '../../platform/config/config.ts';
import { hashOf } from '../../platform/crypto/secrets.ts';
import { Database } from '../../platform/db/database.ts';
import { Fault } from '../../platform/faults/faults.ts';
import { SYSTEM_ACCOUNT, type Actor } from '../../platform/operation/actor.ts';
import { Identifier, type Browser, type Presented } from '../../platform/operation/ports.ts';
import { LastUse } from '../last-use/last-use.sweep.ts';
import { isFromOwnPage } from '../sessions/session.policy.ts';
import { Sessions } from '../sessions/sessions.service.ts';
import { findSession, type SessionRow } from '../sessions/sessions.store.ts';
import { CredentialWatch } from '../watch/watch.service.ts';
import {
  AccountNone,
  AccountSuspended,
  AuthExpired,
  AuthInvalid,
  AuthMissing,
  AuthOrigin,
  AuthRevoked,
  AuthThrottled,
} from './credentials.faults.ts';
import { findCredentials, findOwner, findValid, type CredentialRow } from './credentials.store.ts';
import { Lane } from './lane.service.ts';
import { decide } from './strategies.policy.ts';
import { Suspects } from './suspects.policy.ts';

interface Known {
  readonly actor: Actor;
  /** On the clock that only goes forward. */
  readonly expiresAtMs: number;
}

/** What a look found: for how long it opens, null for as long as the rows stay. */
interface Opened {
  readonly actor: Actor;
  readonly expiresInMs: number | null;
}

/** @throws Fault for what opens nothing. */
type Find = () => Promise<Opened>;

/** Who it is that their account keeps out: for the operations that answer them all the same. */
class KeptOut extends Error {
  constructor(readonly actor: Actor) {
    super('the account keeps its own out');
  }
}

const KNOWN_MAX = 50_000;
/** No hash is empty. */
const OWNER = '';

/**
 * Finds out who is calling. What opened once is remembered by the hash of its secret, for as long as the watch vouches
 * that nothing was taken back meanwhile; a refusal is never believed again without a look.
 *
 * An address from which too many secrets come that nobody has is told 429 for further ones. All of them are looked up still, so
 * nobody can lock out a worker, not even from its own address; but together, so strangers get at one connection at most. A
 * secret that did open something goes past them. What was taken back or ran out says so for ever (a worker ends on 401, and
 * asks again after 429), and is no failure: a fleet behind one address does not throttle itself by a rotation.
 */
@Injectable()
export class Credentials extends Identifier {
  /** Both are replaced, not emptied: a look that began before an eviction then ends in the maps that nobody reads. */
  private known = new Map<string, Known>();
  private looks = new Map<string, Promise<Known>>();
  /** Outlives evictions: whose a credential was is no secret to be taken back, and opens nothing. */
  private readonly accounts = new Map<string, string>();
  /** Those that somebody has, and that were refused since they last opened something. */
  private readonly dead = new Set<string>();
  private readonly suspects: Suspects;
  private readonly lane = new Lane((hashes) => this.findMany(hashes));

  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(CredentialWatch) private readonly watch: CredentialWatch,
    @Inject(Sessions) private readonly sessions: Sessions,
    @Inject(LastUse) private readonly lastUse: LastUse,
    @Inject(Clock) private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Config,
  ) {
    super();
    this.suspects = new Suspects(config.failedCredentialsPerMinute);
    watch.onChange(() => this.forget());
  }

  async identify({ bearer, address, browser }: Presented): Promise<Actor> {
    const actor = await decide({
      bearer: () => (bearer === undefined ? undefined : this.byBearer(bearer, address)),
      session: () => this.bySession(browser?.()),
    });
    if (actor) return actor;
    if (this.config.auth === 'on') throw AuthMissing();
    return (await this.recall(OWNER, async () => openedBy(await findOwner(this.database)))).actor;
  }

  /** As `identify`, and knows also whom their account keeps out. Undefined for whoever nobody knows. */
  async recognize(presented: Presented): Promise<Actor | undefined> {
    try {
      return await this.identify(presented);
    } catch (error) {
      if (error instanceof Fault) return error.cause instanceof KeptOut ? error.cause.actor : undefined;
      throw error;
    }
  }

  private bySession(browser: Browser | undefined): Promise<Actor> | undefined {
    const sid = this.sessions.sidOf(browser);
    return sid === undefined || !browser ? undefined : this.openSession(browser, sid);
  }

  private async openSession(browser: Browser, sid: string | null): Promise<Actor> {
    if (sid === null) throw AuthInvalid();
    if (!isFromOwnPage(browser, this.config.publicUrl)) throw AuthOrigin();
    const find = async (): Promise<Opened> => openedSession(await findSession(this.database, sid));
    const { actor } = await this.recall(sid, find);
    this.sessions.noteUse(sid);
    return actor;
  }

  private async byBearer(bearer: string, address: string): Promise<Actor> {
    const hash = hashOf(bearer);
    const key = keyOf(hash);
    try {
      const { actor } = await this.recall(key, async () => openedBy(await this.find(hash, key, address)));
      this.lastUse.note(actor);
      return actor;
    } catch (error) {
      throw error instanceof Fault ? this.refusal(error, key, address) : error;
    }
  }

  accountOf({ bearer }: Presented): string | undefined {
    return this.accounts.get(keyOf(bearer === undefined ? undefined : hashOf(bearer)));
  }

  /** Those of `credentialIds` (API keys, worker tokens and sessions) that open something now: for whoever holds streams open under them. */
  async valid(credentialIds: readonly string[]): Promise<Set<string>> {
    return new Set(credentialIds.length === 0 ? [] : await findValid(this.database, credentialIds));
  }

  private async find(hash: Uint8Array, key: string, address: string): Promise<CredentialRow | undefined> {
    const isDead = this.dead.has(key);
    const isSuspect = !this.accounts.has(key) && this.suspects.waitMs(address, this.clock.monotonicMs()) > 0;
    return isDead || isSuspect ? this.lane.find(hash, key) : (await this.findMany([hash])).get(key);
  }

  private async findMany(hashes: readonly Uint8Array[]): Promise<ReadonlyMap<string, CredentialRow>> {
    const rows = await findCredentials(this.database, hashes);
    return new Map(rows.map((row) => [keyOf(row.secretHash), row]));
  }

  /** What the caller is told: of a secret that nobody has not always what was found. */
  private refusal(fault: Fault, key: string, address: string): Fault {
    if (fault.type !== AuthInvalid || this.accounts.has(key)) {
      if (this.dead.size >= KNOWN_MAX) this.dead.clear();
      this.dead.add(key);
      return fault;
    }
    const now = this.clock.monotonicMs();
    const waitMs = this.suspects.waitMs(address, now);
    if (waitMs > 0) return AuthThrottled({ retryAfterSeconds: Math.ceil(waitMs / 1_000) });
    this.suspects.noteFailure(address, now);
    return fault;
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
    const { actor, expiresInMs } = await find();
    const found = { actor, expiresAtMs: askedAtMs + (expiresInMs ?? Number.POSITIVE_INFINITY) };
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
function openedBy(row: CredentialRow | undefined): Opened {
  if (!row) throw AuthInvalid();
  if (row.isRevoked) throw AuthRevoked();
  if (row.expiresInMs !== null && row.expiresInMs <= 0) throw AuthExpired();
  const { kind, accountId, credentialId, scopes, isSystemAdmin, userId } = row;
  const actor: Actor = {
    kind,
    id: row.holderId,
    accountId,
    credentialId,
    scopes,
    agentHandle: row.handle ?? undefined,
    isSystemAdmin,
    userId: userId ?? undefined,
  };
  if (!row.isAccountActive) throw AccountSuspended({ cause: new KeptOut(actor) });
  return { actor, expiresInMs: row.expiresInMs };
}

/** @throws Fault for a session that is over, or that has nowhere to act. */
function openedSession(row: SessionRow | undefined): Opened {
  if (!row) throw AuthInvalid();
  if (row.isEnded || row.isPrincipalActive === false) throw AuthRevoked();
  if (row.expiresInMs <= 0) throw AuthExpired();
  const actor = sessionActor(row);
  if (row.accountId === null && !row.isOwnerAdmin) throw AccountNone({ cause: new KeptOut(actor) });
  if (row.isAccountActive === false) throw AccountSuspended({ cause: new KeptOut(actor) });
  return { actor, expiresInMs: Math.min(row.expiresInMs, row.actsForMs ?? Number.POSITIVE_INFINITY) };
}

function sessionActor(row: SessionRow): Actor {
  const { ownerId, acting, ownerEmail: email } = row;
  const came = {
    kind: 'person',
    id: row.principalId ?? ownerId,
    accountId: row.accountId ?? SYSTEM_ACCOUNT,
    credentialId: row.sid,
    scopes: [],
    agentHandle: undefined,
    isSession: true,
  } as const;
  if (acting === null) return { ...came, isSystemAdmin: row.isOwnerAdmin, userId: ownerId };
  const impersonator = { principalId: row.homePrincipalId ?? ownerId, userId: ownerId, email, mode: acting };
  return { ...came, isSystemAdmin: false, userId: row.userId ?? undefined, impersonator };
}
