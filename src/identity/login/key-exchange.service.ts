import { createHash } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { CONFIG, type Config } from '../../platform/config/config.ts';
import { RouteNotFound } from '../../platform/faults/faults.ts';
import { Redirect } from '../../platform/http/redirect.ts';
import { newId } from '../../platform/ids/ids.ts';
import { later, type Later } from '../../platform/operation/later.ts';
import type { OpContext, Out } from '../../platform/operation/operation.ts';
import { AccessEscalation } from '../credentials/credentials.faults.ts';
import { Sessions } from '../sessions/sessions.service.ts';
import { CredentialWatch } from '../watch/watch.service.ts';
import type { exchangeKey } from './login.contract.ts';
import { ExchangeNotAPerson } from './login.faults.ts';

const SCRIPT = `document.forms[0].addEventListener('submit', async (event) => {
  event.preventDefault();
  const answer = await fetch('/auth/session/exchange', { method: 'POST', headers: { authorization: 'Bearer ' + document.forms[0].key.value.trim() } });
  if (answer.ok) location.assign('/auth/me');
  else document.querySelector('output').textContent = (await answer.json()).detail;
});`;
const PAGE = `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Sign in to Signalbox</title></head><body>
<h1>Sign in with an API key</h1><p>For development. The key becomes a session of this browser.</p>
<form><label>API key <input name="key" type="password" autocomplete="off" required></label> <button>Sign in</button></form><output></output>
<script>${SCRIPT}</script></body></html>`;
const POLICY = `default-src 'none'; connect-src 'self'; script-src 'sha256-${createHash('sha256').update(SCRIPT).digest('base64')}'; frame-ancestors 'none'`;

/** Sessions without an identity provider, for development: a switch that is off unless somebody turns it on. */
@Injectable()
export class KeyExchange {
  constructor(
    @Inject(Sessions) private readonly sessions: Sessions,
    @Inject(CredentialWatch) private readonly watch: CredentialWatch,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /** A key that is narrowed makes no session, which would not be. */
  async exchange(ctx: OpContext): Promise<Later<Out<typeof exchangeKey>>> {
    this.assertOn();
    const { actor, presented } = ctx;
    if (actor.kind !== 'person' || actor.userId === undefined) throw ExchangeNotAPerson();
    if (presented.bearer === undefined) throw ExchangeNotAPerson({ message: 'A session is made of an API key' });
    if (actor.scopes.length > 0) throw AccessEscalation({ message: 'A session would reach further than this key' });
    const { accountId, userId } = actor;
    const id = newId('session', ctx.now.getTime());
    const browser = presented.browser?.();
    const wanted = { id, userId, accountId, method: 'api_key', userAgent: browser?.userAgent } as const;
    const { cookie } = await this.sessions.begin(ctx, browser, wanted);
    ctx.setCookie(cookie);
    ctx.note({ target_id: id, method: 'api_key' });
    const version = await this.watch.change(ctx);
    return later(async () => {
      await this.watch.settled(version);
      return { expires_in: cookie.seconds };
    });
  }

  async entrance(): Promise<Redirect> {
    this.assertOn();
    return new Redirect('/auth/dev/key');
  }

  async page(ctx: OpContext): Promise<string> {
    this.assertOn();
    ctx.header('content-security-policy', POLICY);
    ctx.header('cache-control', 'no-store');
    return PAGE;
  }

  private assertOn(): void {
    if (this.config.devLogin === 'off') throw RouteNotFound();
  }
}
