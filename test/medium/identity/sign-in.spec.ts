import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { startSignInProvider, type SignInProvider } from '../../../examples/sign-in-provider.ts';
import { startApp, type Json, type RunningApp } from '../../support/app.ts';
import { Browser } from '../../support/browser.ts';

let provider: SignInProvider;
let app: RunningApp;
let home: Awaited<ReturnType<RunningApp['account']>>;
let browser: Browser;

const env = ({ issuer, clientId, clientSecret }: SignInProvider) => ({
  SIGNALBOX_OIDC_ISSUER: issuer,
  SIGNALBOX_OIDC_CLIENT_ID: clientId,
  SIGNALBOX_OIDC_CLIENT_SECRET: clientSecret,
});

beforeAll(async () => {
  provider = await startSignInProvider();
  app = await startApp({ env: env(provider) });
  provider.serve(app.url);
  home = await app.account();
});
afterAll(async () => {
  await app.stop();
  await provider.stop();
});
beforeEach(() => {
  browser = new Browser();
});

const owner = () => `owner@${home.slug}.test`;
const start = (next = '/agents') => `${app.url}/auth/start?next=${encodeURIComponent(next)}`;
const me = async (who: Browser): Promise<Json> => JSON.parse((await who.open(`${app.url}/auth/me`)).text);
const problemOf = (to: string | undefined) => new URL(to ?? 'http://none').searchParams.get('code');

describe('K-54: signing in through an identity provider', () => {
  it('asks silently first, then the person; ends where they wanted to go, as the member who was known by their mail address', async () => {
    const callback = await browser.signInAs(owner(), start());
    const { status, to, headers } = await browser.open(callback);
    expect({ status, to }).toEqual({ status: 302, to: `${app.url}/agents` });
    expect(headers.getSetCookie().find((one) => one.startsWith('signalbox_session='))).toMatch(
      /HttpOnly; SameSite=Lax$/,
    );
    expect(await me(browser)).toMatchObject({
      authenticated: true,
      identity: {
        user: { email: owner() },
        principal: { id: home.ownerId },
        account: { id: home.accountId },
        auth_source: { auth: 'session', sub: owner() },
        is_system_admin: true,
      },
    });
    const rows = await app.call('GET', '/api/v1/audit?category=authentication', { key: home.key });
    expect(rows.json).toContainEqual(
      expect.objectContaining({ action: 'session.begin', actor_principal_id: home.ownerId, status: 'success' }),
    );
  });

  it('is silent where the provider still knows the person, and gives another session', async () => {
    await browser.open(await browser.signInAs(owner(), start()));
    const before = browser.cookie(app.url, 'signalbox_session');
    const silent = await browser.follow(start(), /\/auth\/oidc\/callback/);
    expect((await browser.open(silent)).to).toBe(`${app.url}/agents`);
    expect(browser.cookie(app.url, 'signalbox_session')).not.toBe(before);
    const old = await app.call('GET', '/api/v1/runs', { headers: { cookie: `signalbox_session=${before}` } });
    expect(old.json.code).toBe('auth.revoked');
  });

  it('somebody whom nobody invited is signed in and a member of nothing; whose address is not verified is not', async () => {
    await browser.open(await browser.signInAs('stranger@elsewhere.test', start()));
    expect((await me(browser)).identity).toMatchObject({ tenantless: true, account: null });
    const unverified = new Browser();
    const { to } = await unverified.open(await unverified.signInAs(`unverified-${owner()}`, start()));
    expect(problemOf(to)).toBe('auth.email_unverified');
    expect((await me(unverified)).authenticated).toBe(false);
  });

  it('whose domain an account trusts becomes a member who may look; whoever was removed does not come back by it', async () => {
    const domains = '/api/v1/accounts/trusted-domains';
    const domain = `${home.slug}.test`;
    const nothing = { domains: [], eligible_domain: domain, ineligible_reason: null, enabled: false };
    const seen = async () => (await app.call('GET', domains, { key: home.key })).json;
    expect(await seen()).toEqual(nothing);
    const made = await app.call('POST', domains, { key: home.key });
    expect(made).toMatchObject({ status: 201, json: { domain, account_id: home.accountId } });
    expect((await app.call('POST', domains, { key: home.key })).json.code).toBe('trusted_domain.exists');
    expect(await seen()).toEqual({ ...nothing, domains: [made.json], enabled: true });

    await browser.open(await browser.signInAs(`newcomer@${domain.toUpperCase()}`, start()));
    const { identity } = await me(browser);
    expect(identity).toMatchObject({ account: { id: home.accountId }, is_system_admin: false });
    expect(identity.authz.capabilities).toContain('run.read');
    expect(identity.authz.capabilities).not.toContain('agent.invoke');
    const elsewhere = new Browser();
    await elsewhere.open(await elsewhere.signInAs(`newcomer@sub.${domain}`, start()));
    expect((await me(elsewhere)).identity).toMatchObject({ tenantless: true });

    await app.call('DELETE', `/api/v1/accounts/members/${identity.principal.id}`, { key: home.key });
    const again = new Browser();
    await again.open(await again.signInAs(`newcomer@${domain.toUpperCase()}`, start()));
    expect((await me(again)).identity).toMatchObject({ tenantless: true });

    const other = await app.account();
    expect((await app.call('DELETE', domains, { key: other.key })).json.code).toBe('trusted_domain.not_found');
    expect((await app.call('DELETE', `${domains}?reason=moved`, { key: home.key })).status).toBe(204);
    expect(await seen()).toEqual(nothing);
    const rows = await app.call('GET', '/api/v1/audit?q=member.join', { key: home.key });
    expect(rows.json).toMatchObject([{ actor_type: 'system', detail: { domain, role_ids: ['role_viewer'] } }]);
  });

  it('signing out ends the session here and leads to the provider, without an id token in the address', async () => {
    await browser.open(await browser.signInAs(owner(), start()));
    const { to = '' } = await browser.open(`${app.url}/auth/logout`);
    expect(to).toContain(`${provider.issuer}/session/end?`);
    expect(to).not.toContain('id_token_hint');
    expect(new URL(to).searchParams.get('post_logout_redirect_uri')).toBe(`${app.url}/`);
    expect((await me(browser)).authenticated).toBe(false);
  });
});

describe('U-36: an answer of the provider', () => {
  it('goes with PKCE, state and nonce', async () => {
    const { to = '' } = await browser.open(`${app.url}/auth/oidc/login`);
    const asked = new URL(to).searchParams;
    expect(asked.get('code_challenge_method')).toBe('S256');
    for (const name of ['state', 'nonce', 'code_challenge']) expect(asked.get(name)?.length).toBeGreaterThan(30);
  });

  it('signs nobody in twice, in another browser, with another state, issuer or code, or without its beginning', async () => {
    const callback = await browser.signInAs(owner(), start());
    const begun = browser.cookie(app.url, 'signalbox_sign_in') ?? '';
    const victim = new Browser();
    expect(problemOf((await victim.open(callback)).to)).toBe('auth.sign_in_state');
    const bent = async (name: string, value: string, kept = begun) => {
      const url = new URL(callback);
      url.searchParams.set(name, value);
      const one = new Browser();
      one.setCookie(app.url, 'signalbox_sign_in', kept);
      const { to } = await one.open(url.href);
      expect((await me(one)).authenticated).toBe(false);
      return problemOf(to);
    };
    expect(await bent('state', 'another')).toBe('auth.sign_in_state');
    expect(await bent('iss', 'https://mixed-up.test')).toBe('auth.sign_in_invalid');
    expect(await bent('code', 'guessed')).toBe('auth.sign_in_invalid');
    const last = begun.slice(0, -1) + (begun.endsWith('A') ? 'B' : 'A');
    expect(await bent('a', 'b', last)).toBe('auth.sign_in_state');
    expect((await browser.open(callback)).to).toBe(`${app.url}/agents`);
    expect(await bent('a', 'b')).toBe('auth.sign_in_invalid'); // the code and the state were used
    const rows = await app.database.query<{ n: number }>(
      `SELECT count(*)::int AS n FROM audit_entry WHERE action = 'auth.refuse' AND category = 'authentication'`,
    );
    expect(rows[0]?.n).toBeGreaterThan(3);
  });

  it.each([
    '//evil.test',
    '/\\evil.test',
    '/%2f%2fevil.test/x',
    '/%5cevil.test',
    'https://evil.test',
    'data:text/html,x',
    '/a\nb',
    '/\t/evil.test',
    '/auth/logout',
    '',
  ])('leads to no other place than one of ours: %j', async (next) => {
    await browser.open(await browser.signInAs(owner(), start()));
    const { to } = await browser.open(await browser.follow(start(next), /\/auth\/oidc\/callback/));
    expect(to).toBe(`${app.url}/`);
  });

  it('counts only with the signature of a key that the provider has now, and of no other kind', async () => {
    const forge = (change: (head: Json, body: Json) => void) => {
      provider.serve(app.url, (ctx) => {
        const answer = ctx.body as Json;
        if (ctx.path !== '/token' || typeof answer?.id_token !== 'string') return;
        const [head = '', body = '', mac = ''] = answer.id_token.split('.');
        const parts: Json[] = [head, body].map((part) => JSON.parse(Buffer.from(part, 'base64url').toString()));
        change(parts[0], parts[1]);
        const written = parts.map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'));
        ctx.body = { ...answer, id_token: `${written.join('.')}.${mac}` };
      });
    };
    const attempt = async () => {
      const one = new Browser();
      const { to } = await one.open(await one.signInAs(owner(), start()));
      return problemOf(to);
    };
    for (const change of [
      (_: Json, body: Json) => (body.email = 'admin@elsewhere.test'),
      (_: Json, body: Json) => (body.nonce = 'another'),
      (_: Json, body: Json) => (body.iss = 'https://mixed-up.test'),
      (_: Json, body: Json) => (body.exp = 1),
      (head: Json) => (head.alg = 'none'),
      (head: Json) => (head.alg = 'HS256'),
    ]) {
      forge(change);
      expect(await attempt()).toBe('auth.sign_in_invalid');
    }
    provider.serve(app.url); // with new keys
    expect(await attempt()).toBeNull();
  });
});

describe('U-48: a provider that is away', () => {
  it('ends on a page that says so, never in a failure of ours, and counts again by itself', async () => {
    const later = await startSignInProvider();
    const away = await startApp({ env: env(later), database: app.database });
    const { status, to = '' } = await browser.open(`${away.url}/auth/oidc/login`);
    expect({ status, code: problemOf(to) }).toEqual({ status: 302, code: 'auth.provider_unavailable' });
    const page = await browser.open(to);
    expect({ status: page.status, text: page.text }).toEqual({
      status: 200,
      text: expect.stringContaining('cannot be reached'),
    });
    later.serve(away.url);
    const callback = await browser.signInAs(owner(), `${away.url}/auth/start`);
    await later.stop();
    expect(problemOf((await browser.open(callback)).to)).toBe('auth.provider_unavailable');
    await away.stop();
  });

  it('one that is not set up says so', async () => {
    const none = await startApp({ database: app.database });
    const { to = '' } = await browser.open(`${none.url}/auth/oidc/login`);
    expect(problemOf(to)).toBe('auth.sign_in_not_set_up');
    await none.stop();
  });
});
