import { Inject, Injectable } from '@nestjs/common';
import * as oidc from 'openid-client';
import { AuditLedger } from '../../audit/index.ts';
import { Clock } from '../../platform/clock/clock.ts';
import { CONFIG, type Config } from '../../platform/config/config.ts';
import { KEY_RING, type KeyRing } from '../../platform/crypto/key-ring.ts';
import { readSigned, writeSigned } from '../../platform/crypto/signed.ts';
import { violatedConstraint } from '../../platform/db/database-errors.ts';
import { Database } from '../../platform/db/database.ts';
import { Fault } from '../../platform/faults/faults.ts';
import { Redirect } from '../../platform/http/redirect.ts';
import { derivedId, newId } from '../../platform/ids/ids.ts';
import { SYSTEM_ACCOUNT } from '../../platform/operation/actor.ts';
import type { Cookie, In, OpContext } from '../../platform/operation/operation.ts';
import type { Browser } from '../../platform/operation/ports.ts';
import { asSystemWork, type SystemContext } from '../../platform/operation/system-work.ts';
import { AuthOrigin } from '../credentials/credentials.faults.ts';
import { isFromOwnPage } from '../sessions/session.policy.ts';
import { Sessions, type BegunSession } from '../sessions/sessions.service.ts';
import { TrustedDomains } from '../trusted-domains/trusted-domains.service.ts';
import type * as contract from './login.contract.ts';
import {
  SIGN_IN_FAULTS,
  SignInEmail,
  SignInInvalid,
  SignInNotSetUp,
  SignInState,
  SignInTaken,
} from './login.faults.ts';
import { safeNext, underWayIn, type SignInUnderWay, type Vouched } from './login.policy.ts';
import { findByMail, findBySubject, insertPerson, noteSignIn, type KnownPerson } from './people.store.ts';
import { NeedsInteraction, Provider } from './provider.client.ts';

const COOKIE = 'signalbox_sign_in';
const PATH = '/auth';
const CALLBACK = '/auth/oidc/callback';
/** How long somebody may take at the provider. */
const UNDER_WAY_SECONDS = 600;

/** Signs people in through the OpenID provider, and out. Whatever goes wrong ends on a page that says so. */
@Injectable()
export class Login {
  constructor(
    @Inject(Provider) private readonly provider: Provider,
    @Inject(Sessions) private readonly sessions: Sessions,
    @Inject(TrustedDomains) private readonly trusted: TrustedDomains,
    @Inject(AuditLedger) private readonly ledger: AuditLedger,
    @Inject(Database) private readonly database: Database,
    @Inject(KEY_RING) private readonly keyRing: KeyRing,
    @Inject(CONFIG) private readonly config: Config,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  async start(ctx: OpContext, { next }: In<typeof contract.startSignIn>): Promise<Redirect> {
    ctx.header('cache-control', 'no-store');
    const home = safeNext(next);
    if (this.config.auth === 'off') return new Redirect(home);
    if (!this.provider.isSetUp && this.config.devLogin !== 'off') return new Redirect('/auth/dev/login');
    return new Redirect(`/auth/oidc/login?silent=1&next=${encodeURIComponent(home)}`);
  }

  async login(ctx: OpContext, { next, silent }: In<typeof contract.oidcLogin>): Promise<Redirect> {
    ctx.header('cache-control', 'no-store');
    const under: SignInUnderWay = {
      state: oidc.randomState(),
      nonce: oidc.randomNonce(),
      verifier: oidc.randomPKCECodeVerifier(),
      next: safeNext(next),
      isSilent: silent,
      endsAtMs: this.clock.nowMs() + UNDER_WAY_SECONDS * 1_000,
    };
    try {
      const entrance = await this.provider.entrance(under, `${this.base(ctx)}${CALLBACK}`);
      ctx.setCookie(this.cookie(ctx, writeSigned(this.keyRing, COOKIE, under), UNDER_WAY_SECONDS));
      return new Redirect(entrance);
    } catch (error) {
      return this.toProblem(ctx, error);
    }
  }

  async callback(ctx: OpContext): Promise<Redirect> {
    ctx.header('cache-control', 'no-store');
    ctx.setCookie(this.cookie(ctx, '', 0)); // one answer for each sign-in
    const browser = ctx.presented.browser?.();
    const said = readSigned(this.keyRing, COOKIE, browser?.cookies[COOKIE] ?? '');
    const under = underWayIn(said, this.clock.nowMs());
    try {
      if (!under || !browser) throw SignInState();
      const answered = new URL(`${this.base(ctx)}${CALLBACK}${new URL(browser.url, 'http://local.invalid').search}`);
      if (answered.searchParams.get('state') !== under.state) throw SignInState();
      const vouched = await this.provider.vouch(under, answered);
      const { cookie } = await this.admit(ctx, under, vouched);
      ctx.setCookie(cookie);
      return new Redirect(under.next);
    } catch (error) {
      if (error instanceof NeedsInteraction && under)
        return new Redirect(`/auth/oidc/login?next=${encodeURIComponent(under.next)}`);
      return this.toProblem(ctx, error);
    }
  }

  async problem(ctx: OpContext, { code }: In<typeof contract.signInProblem>): Promise<string> {
    ctx.header('cache-control', 'no-store');
    ctx.header('content-security-policy', "default-src 'none'; frame-ancestors 'none'");
    const type = SIGN_IN_FAULTS.find((one) => one.code === code);
    return `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Not signed in</title></head><body>
<h1>You are not signed in</h1><p>${type?.sentence ?? 'Something went wrong'}.</p><p><code>${type?.code ?? 'auth.unknown'}</code></p>
<p><a href="/auth/oidc/login">Try again</a></p></body></html>`;
  }

  async logout(ctx: OpContext): Promise<Redirect> {
    const browser = ctx.presented.browser?.();
    ctx.header('cache-control', 'no-store');
    if (browser && this.sessions.sidOf(browser) && !isFromOwnPage(browser, this.config.publicUrl)) throw AuthOrigin();
    ctx.setCookie(this.sessions.forgetting(browser));
    const ended = await this.sessions.end(browser, async (system, sid, { accountId, userId, principalId }) =>
      this.record(ctx, system, { sid, accountId, actorId: principalId ?? userId, action: 'session.end', detail: {} }),
    );
    const exit = ended?.method === 'oidc' ? await this.provider.exit(`${this.base(ctx)}/`) : undefined;
    return new Redirect(exit ?? '/');
  }

  /** The session's id is made of the state, so a state that is used again finds it taken. */
  private async admit(ctx: OpContext, { state }: SignInUnderWay, vouched: Vouched): Promise<BegunSession> {
    const id = derivedId('session', state);
    const browser = ctx.presented.browser?.();
    try {
      return await asSystemWork(this.database, 'sign in', async (system) => {
        const userId = await this.personOf(system, vouched);
        if (vouched.email !== undefined) await this.trusted.join(system, userId, vouched.email);
        const wanted = { id, userId, method: 'oidc', userAgent: browser?.userAgent } as const;
        const begun = await this.sessions.begin(system, browser, wanted);
        const { accountId, principalId } = begun;
        const detail = { method: 'oidc', issuer: vouched.issuer };
        await this.record(ctx, system, {
          sid: id,
          accountId,
          actorId: principalId ?? userId,
          action: 'session.begin',
          detail,
        });
        return begun;
      });
    } catch (error) {
      if (violatedConstraint(error) === 'session_pkey') throw SignInState();
      throw error;
    }
  }

  /** An address that nobody has verified opens nothing: whoever invites by it means its owner. */
  private async personOf(system: SystemContext, vouched: Vouched): Promise<string> {
    const known = await findBySubject(system, vouched);
    const id = known?.id ?? (await this.personByMail(system, vouched));
    await noteSignIn(system, id, vouched);
    return id;
  }

  private async personByMail(system: SystemContext, { email }: Vouched): Promise<string> {
    if (email === undefined) throw SignInEmail();
    const person: KnownPerson | undefined = await findByMail(system, email);
    if (person?.isBound) throw SignInTaken();
    if (person) return person.id;
    const id = newId('user', this.clock.nowMs());
    await insertPerson(system, id, email);
    return id;
  }

  private async record(ctx: OpContext, { sql }: SystemContext, said: SignedIn): Promise<void> {
    const { text, values } = this.ledger.systemRow({
      accountId: said.accountId ?? SYSTEM_ACCOUNT,
      area: 'identity',
      action: said.action,
      operation: said.action === 'session.end' ? 'identity.logout' : 'identity.oidc_callback',
      target: ['session', said.sid],
      detail: said.detail,
      by: { actorKind: 'person', actorId: said.actorId, requestId: ctx.requestId, address: ctx.presented.address },
    });
    await sql(text, values);
  }

  private toProblem(ctx: OpContext, error: unknown): Redirect {
    const fault = error instanceof NeedsInteraction ? SignInInvalid({ cause: error }) : error;
    if (!(fault instanceof Fault)) throw error;
    const { presented, requestId } = ctx;
    if (fault.type !== SignInNotSetUp)
      this.ledger.recordStranger({
        operation: 'identity.oidc_callback',
        area: 'identity',
        presented,
        fault,
        requestId,
      });
    return new Redirect(`/auth/problem?code=${encodeURIComponent(fault.code)}`);
  }

  private base({ presented }: OpContext): string {
    return this.config.publicUrl ?? presented.browser?.().called ?? '';
  }

  private cookie({ presented }: OpContext, value: string, seconds: number): Cookie {
    const browser: Browser | undefined = presented.browser?.();
    return { name: COOKIE, value, path: PATH, seconds, secure: this.sessions.isSecure(browser) };
  }
}

interface SignedIn {
  readonly sid: string;
  readonly accountId: string | null;
  readonly actorId: string;
  readonly action: 'session.begin' | 'session.end';
  readonly detail: object;
}
