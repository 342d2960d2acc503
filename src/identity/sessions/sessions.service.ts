import { Inject, Injectable } from '@nestjs/common';
import { Clock } from '../../platform/clock/clock.ts';
import { CONFIG, type Config } from '../../platform/config/config.ts';
import { KEY_RING, type KeyRing } from '../../platform/crypto/key-ring.ts';
import { readSigned, writeSigned } from '../../platform/crypto/signed.ts';
import { Database } from '../../platform/db/database.ts';
import { Log, describeError } from '../../platform/log/log.ts';
import type { Cookie } from '../../platform/operation/operation.ts';
import type { Browser } from '../../platform/operation/ports.ts';
import { asSystemWork, type SystemContext } from '../../platform/operation/system-work.ts';
import { CredentialWatch } from '../watch/watch.service.ts';
import { claimIn, ownOrigin, SESSION_COOKIE } from './session.policy.ts';
import { endSession, insertSession, renewSession, type EndedSession, type NewSession } from './sessions.store.ts';

const PURPOSE = 'session';
/** A use is written down once in this time, and in a tenth of the time that a session lives without one. */
const RENEW_MS = 60_000;
const REMEMBERED_MAX = 50_000;

type Beginning = Omit<NewSession, 'idleSeconds' | 'capSeconds'>;

/** A session that has begun: its cookie, and where it acts. */
export interface BegunSession {
  readonly cookie: Cookie;
  readonly accountId: string | null;
  readonly principalId: string | null;
}

/**
 * Browsers' sessions. The cookie is signed and names a row; the row decides, and with it the rows of the person, the
 * membership and the account, so nothing has to be ended one by one where those are taken away.
 */
@Injectable()
export class Sessions {
  private readonly log = new Log('identity');
  private readonly renewedAt = new Map<string, number>();
  private readonly renewMs: number;
  private readonly idleSeconds: number;

  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(CredentialWatch) private readonly watch: CredentialWatch,
    @Inject(KEY_RING) private readonly keyRing: KeyRing,
    @Inject(CONFIG) private readonly config: Config,
    @Inject(Clock) private readonly clock: Clock,
  ) {
    this.idleSeconds = config.sessionIdleMinutes * 60;
    this.renewMs = Math.min(RENEW_MS, this.idleSeconds * 100);
  }

  /** The session that a browser's cookie names, by its signature alone. `undefined`: no cookie; `null`: one that we did not make. */
  sidOf(browser: Browser | undefined): string | null | undefined {
    const text = browser?.cookies[SESSION_COOKIE];
    if (text === undefined || text === '') return undefined;
    return claimIn(readSigned(this.keyRing, PURPOSE, text))?.sid ?? null;
  }

  /** In the caller's transaction. The session that the browser had until now ends: its cookie may be another's. */
  async begin(ctx: SystemContext, browser: Browser | undefined, wanted: Beginning): Promise<BegunSession> {
    const capSeconds = this.config.sessionHours * 3_600;
    const before = this.sidOf(browser);
    if (before) await endSession(ctx, before, 'signed in again');
    const place = await insertSession(ctx, { ...wanted, idleSeconds: this.idleSeconds, capSeconds });
    if (before) await this.watch.change(ctx);
    const claim = [wanted.id, this.clock.nowMs() + capSeconds * 1_000];
    return { ...place, cookie: this.cookie(browser, writeSigned(this.keyRing, PURPOSE, claim), capSeconds) };
  }

  /** Ends the browser's session on every replica before it answers; undefined where it had none. */
  async end(browser: Browser | undefined, work?: SessionEnd): Promise<EndedSession | undefined> {
    const sid = this.sidOf(browser);
    if (!sid) return undefined;
    const ending = await asSystemWork(this.database, 'end a session', async (ctx) => {
      const ended = await endSession(ctx, sid, 'signed out');
      if (!ended) return undefined;
      await work?.(ctx, sid, ended);
      return { ended, version: await this.watch.change(ctx) };
    });
    if (ending) await this.watch.settled(ending.version);
    return ending?.ended;
  }

  /** The cookie that makes a browser forget. */
  forgetting(browser: Browser | undefined): Cookie {
    return this.cookie(browser, '', 0);
  }

  /** Puts off the end of a session that is used. Nobody waits for it. */
  noteUse(sid: string): void {
    const now = this.clock.monotonicMs();
    if (now - (this.renewedAt.get(sid) ?? Number.NEGATIVE_INFINITY) < this.renewMs) return;
    if (this.renewedAt.size >= REMEMBERED_MAX) this.renewedAt.clear();
    this.renewedAt.set(sid, now);
    asSystemWork(this.database, 'renew a session', (ctx) => renewSession(ctx, sid, this.idleSeconds)).catch(
      (error: unknown) => this.log.debug('a session was not renewed', { error: describeError(error) }),
    );
  }

  isSecure(browser: Browser | undefined): boolean {
    return ownOrigin(browser ?? { called: '' }, this.config.publicUrl).startsWith('https:');
  }

  private cookie(browser: Browser | undefined, value: string, seconds: number): Cookie {
    return {
      name: SESSION_COOKIE,
      value,
      path: '/',
      seconds: Math.floor(seconds),
      secure: this.isSecure(browser),
    };
  }
}

/** What else happens in the transaction that ends a session. */
export type SessionEnd = (ctx: SystemContext, sid: string, ended: EndedSession) => Promise<void>;
