import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { endSessionsOf } from '../../../src/identity/index.ts';
import { Database } from '../../../src/platform/db/database.ts';
import { Sweeper } from '../../../src/platform/sweep/sweep.ts';
import { startApp, type Json, type RunningApp } from '../../support/app.ts';

let app: RunningApp;
let other: RunningApp;
/** The first account: its owner is a system admin. */
let home: Awaited<ReturnType<RunningApp['account']>>;

const ENV = { SIGNALBOX_DEV_LOGIN: 'on' };

beforeAll(async () => {
  app = await startApp({ env: ENV });
  other = await startApp({ env: { ...ENV, PUBLIC_URL: 'https://signalbox.test' }, database: app.database });
  home = await app.account();
});
afterAll(async () => {
  await other.stop();
  await app.stop();
});

/** The cookie of a new session, and all that the browser was told about it. */
async function signIn(key = home.key, at = app): Promise<{ cookie: string; attributes: string }> {
  const { status, headers } = await at.call('POST', '/auth/session/exchange', { key });
  expect(status).toBe(200);
  const attributes = headers.get('set-cookie') ?? '';
  return { cookie: attributes.split(';')[0] ?? '', attributes };
}

function by(cookie: string, more: Readonly<Record<string, string>> = { origin: app.url }) {
  return { headers: { cookie, ...more } };
}

async function me(cookie: string, at = app): Promise<Json> {
  const { status, json } = await at.call('GET', '/auth/me', { headers: { cookie } });
  expect(status).toBe(200);
  return json;
}

describe('the cookie of a session', () => {
  it('U-36: is HttpOnly, Lax, small, for the whole site, holds no secret, and is Secure where the public address is https', async () => {
    const { attributes, cookie } = await signIn();
    expect(attributes).toMatch(/; Max-Age=43200; Path=\/; HttpOnly; SameSite=Lax$/);
    expect(attributes.length).toBeLessThan(4_096);
    expect(Buffer.from(cookie, 'base64url').toString()).not.toContain(home.key);
    expect((await signIn(home.key, other)).attributes).toMatch(/; Secure/);
  });

  it('K-55: is refused with 401 when any one character is another', async () => {
    const { cookie } = await signIn();
    expect((await app.call('GET', '/api/v1/runs', by(cookie))).status).toBe(200);
    const [name = '', value = ''] = cookie.split('=');
    for (let at = 0; at < value.length; at += 1) {
      const other = value[at] === 'A' ? 'B' : 'A';
      const bent = `${name}=${value.slice(0, at)}${other}${value.slice(at + 1)}`;
      const { status, json } = await app.call('GET', '/api/v1/runs', by(bent));
      expect({ at, status, code: json.code }).toEqual({ at, status: 401, code: 'auth.invalid' });
    }
    const spare = `${cookie.slice(0, -1)}${String.fromCharCode(cookie.charCodeAt(cookie.length - 1) + 1)}`;
    expect((await app.call('GET', '/api/v1/runs', by(spare))).status).toBe(401);
  });

  it('U-36: changes something only from a page of this installation; a bearer needs no page', async () => {
    const { cookie } = await signIn();
    const create = (headers: Readonly<Record<string, string>>, key?: string) =>
      app.call('POST', '/api/v1/session/end-all', {
        ...(key ? { key } : {}),
        body: {},
        headers: { cookie, ...headers },
      });
    const port = app.url.replace(/:\d+$/, ':1');
    for (const origin of [
      undefined,
      'null',
      'https://evil.test',
      `${app.url}.evil.test`,
      port,
      app.url.replace('http', 'https'),
    ]) {
      const { status, json } = await create(origin === undefined ? {} : { origin });
      expect({ origin, status, code: json.code }).toEqual({ origin, status: 403, code: 'auth.origin' });
    }
    expect((await create({ origin: app.url })).status).toBe(200);
    const name = { name: 'by a script', bound_to: 'user' };
    const made = await app.call('POST', '/api/v1/api-keys', {
      key: home.key,
      body: name,
      headers: { cookie, origin: 'https://evil.test' },
    });
    expect(made.status).toBe(201);
  });

  it('the origin is the public address where one is set, whatever the request calls its host', async () => {
    const { cookie } = await signIn();
    const end = (origin: string) =>
      other.call('POST', '/api/v1/session/end-all', { body: {}, headers: { cookie, origin } });
    expect((await end(other.url)).status).toBe(403);
    expect((await end('https://signalbox.test')).status).toBe(200);
  });

  it('an invalid bearer is never rescued by a cookie, and a valid one wins over it', async () => {
    const { cookie } = await signIn();
    const wrong = await app.call('GET', '/api/v1/runs', { key: 'sk_nobody', ...by(cookie) });
    expect({ status: wrong.status, code: wrong.json.code }).toEqual({ status: 401, code: 'auth.invalid' });
    const foreign = await app.account();
    const { json } = await app.call('GET', '/auth/me', { key: foreign.key, ...by(cookie) });
    expect(json.identity.account.id).toBe(foreign.accountId);
  });
});

describe('the life of a session', () => {
  it('U-36: ends on every replica when signing out is answered, and its cookie opens nothing again', async () => {
    const { cookie } = await signIn();
    for (const at of [app, other]) expect((await at.call('GET', '/api/v1/runs', by(cookie))).status).toBe(200);
    const out = await fetch(`${app.url}/auth/logout`, { method: 'POST', redirect: 'manual', ...by(cookie) });
    expect({ status: out.status, to: out.headers.get('location') }).toEqual({ status: 302, to: '/' });
    expect(out.headers.get('set-cookie')).toMatch(/^signalbox_session=; Max-Age=0; Path=\//);
    for (const at of [app, other]) {
      const { status, json } = await at.call('GET', '/api/v1/runs', by(cookie));
      expect({ status, code: json.code }).toEqual({ status: 401, code: 'auth.revoked' });
    }
    const rows = await app.call('GET', '/api/v1/audit?category=authentication', { key: home.key });
    expect(rows.json.map(({ action }: Json) => action)).toEqual(
      expect.arrayContaining(['session.begin', 'session.end']),
    );
  });

  it('U-36: another session at each sign-in, and the one before ends', async () => {
    const first = await signIn();
    const again = await app.call('POST', '/auth/session/exchange', { key: home.key, ...by(first.cookie) });
    const second = again.headers.get('set-cookie')?.split(';')[0] ?? '';
    expect(second).not.toBe(first.cookie);
    expect((await app.call('GET', '/api/v1/runs', by(first.cookie))).status).toBe(401);
    expect((await app.call('GET', '/api/v1/runs', by(second))).status).toBe(200);
  });

  it('K-56: is over after its life without use, and at its hard cap however much it is used', async () => {
    const short = await startApp({ env: { ...ENV, SIGNALBOX_SESSION_IDLE_MINUTES: '0.01' }, database: app.database });
    const idle = await signIn(home.key, short);
    const capped = await startApp({ env: { ...ENV, SIGNALBOX_SESSION_HOURS: '0.0002' }, database: app.database });
    const hard = await signIn(home.key, capped);
    const until = Date.now() + 1_000;
    while (Date.now() < until) {
      expect((await capped.call('GET', '/api/v1/runs', by(hard.cookie))).status).toBeLessThan(402);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    for (const [at, { cookie }] of [
      [short, idle],
      [capped, hard],
    ] as const) {
      const { status, json } = await at.call('GET', '/api/v1/runs', by(cookie));
      expect({ status, code: json.code }).toEqual({ status: 401, code: 'auth.expired' });
    }
    await short.stop();
    await capped.stop();
  });

  it('its use renews it, and rows that ended long ago are deleted', async () => {
    const { cookie } = await signIn();
    await app.database.query(
      `UPDATE session SET expires_at = now() + interval '1 minute', last_seen_at = now() - interval '1 hour'`,
    );
    expect((await other.call('GET', '/api/v1/runs', by(cookie))).status).toBe(200);
    const renewed = async (): Promise<boolean> =>
      (await app.database.query(`SELECT FROM session WHERE expires_at > now() + interval '50 minutes'`)).length > 0;
    for (let tries = 0; tries < 50 && !(await renewed()); tries += 1)
      await new Promise((resolve) => setTimeout(resolve, 20));
    expect(await renewed()).toBe(true);
    await app.database.query(
      `UPDATE session SET expires_at = now() - interval '2 days' WHERE expires_at < now() + interval '50 minutes'`,
    );
    await app.nest.get(Sweeper).now('identity.forget_sessions');
    expect(await app.database.query(`SELECT FROM session WHERE expires_at < now() - interval '1 day'`)).toEqual([]);
    expect((await app.call('GET', '/api/v1/runs', by(cookie))).status).toBe(200);
  });

  it('ends with the membership, and with the account’s activity', async () => {
    const account = await app.account();
    const { cookie } = await signIn(account.key);
    const at = [account.accountId];
    await app.database.query(`UPDATE account SET status = 'suspended' WHERE id = $1`, at);
    const suspended = await startApp({ env: ENV, database: app.database });
    const barred = await suspended.call('GET', '/api/v1/runs', by(cookie));
    expect({ status: barred.status, code: barred.json.code }).toEqual({ status: 403, code: 'account.suspended' });
    expect(await me(cookie, suspended)).toMatchObject({
      authenticated: true,
      identity: { account: { status: 'suspended' } },
    });
    await app.database.query(`UPDATE account SET status = 'active' WHERE id = $1`, at);
    await app.database.query(`UPDATE principal SET status = 'removed' WHERE account_id = $1`, at);
    expect((await suspended.call('GET', '/api/v1/runs', by(cookie))).json.code).toBe('auth.revoked');
    await suspended.stop();
  });

  it('a membership that is taken away and given back does not revive the sessions that were ended with it', async () => {
    const account = await app.account();
    const { cookie } = await signIn(account.key);
    const actor = {
      kind: 'person',
      id: account.ownerId,
      accountId: account.accountId,
      credentialId: '',
      scopes: [],
    } as const;
    await app.nest.get(Database).asAccount(account.accountId, (transaction) =>
      endSessionsOf(
        {
          actor: { ...actor, agentHandle: undefined },
          sql: (text, values = []) => transaction.query({ text, values }),
        },
        account.ownerId,
        'removed',
      ),
    );
    expect((await app.call('GET', '/api/v1/runs', by(cookie))).json.code).toBe('auth.revoked');
    const another = await signIn();
    expect((await app.call('GET', '/api/v1/runs', by(another.cookie))).status).toBe(200);
  });

  it('a person lists their sessions and ends all of them but one, or all; nobody else’s', async () => {
    const account = await app.account();
    const [one, two] = [await signIn(account.key), await signIn(account.key)];
    const stranger = await signIn();
    const list = await app.call('GET', '/api/v1/session/list', by(one.cookie));
    expect(list.json.map(({ current, account_id }: Json) => ({ current, account_id }))).toEqual([
      { current: false, account_id: account.accountId },
      { current: true, account_id: account.accountId },
    ]);
    const others = await app.call('POST', '/api/v1/session/end-all', { body: {}, ...by(one.cookie) });
    expect(others.json).toEqual({ ended: 1 });
    expect((await other.call('GET', '/api/v1/runs', by(two.cookie))).status).toBe(401);
    const all = await app.call('POST', '/api/v1/session/end-all', { body: { keep_current: false }, ...by(one.cookie) });
    expect(all.json).toEqual({ ended: 1 });
    expect((await app.call('GET', '/api/v1/runs', by(one.cookie))).status).toBe(401);
    expect((await app.call('GET', '/api/v1/runs', by(stranger.cookie))).status).toBe(200);
    expect((await app.call('GET', '/api/v1/session/list', { key: account.key })).status).toBe(403);
  });
});

describe('the exchange of a key', () => {
  it('is not there unless it is switched on, and then for whole keys of people only', async () => {
    const off = await startApp({ database: app.database });
    expect((await off.call('POST', '/auth/session/exchange', { key: home.key })).status).toBe(404);
    expect((await off.call('GET', '/auth/dev/login')).status).toBe(404);
    await off.stop();
    expect((await app.call('GET', '/auth/dev/login')).text).toContain('<form>');
    const make = async (body: object) =>
      (await app.call('POST', '/api/v1/api-keys', { key: home.key, body })).json.key as string;
    const refused = async (key: string) => {
      const { status, json } = await app.call('POST', '/auth/session/exchange', { key });
      return { status, code: json.code };
    };
    expect(await refused(await make({ name: 'robot' }))).toEqual({ status: 400, code: 'auth.not_a_person' });
    const narrow = await make({ name: 'narrow', bound_to: 'user', scopes: ['runs:read'] });
    expect(await refused(narrow)).toEqual({ status: 403, code: 'access.escalation' });
    await expect(startApp({ env: { ...ENV, HOST: '0.0.0.0' } })).rejects.toThrow('SIGNALBOX_DEV_LOGIN');
  });
});

describe('K-69: /auth/me', () => {
  it('answers 200 to everybody: who calls, where, and what they hold, each capability once', async () => {
    const nobody = await app.call('GET', '/auth/me');
    expect(nobody.json).toEqual({ authenticated: false, auth_enabled: true, identity: null });
    expect((await app.call('GET', '/auth/me', { key: 'sk_wrong' })).json.authenticated).toBe(false);
    const { cookie } = await signIn();
    const whole = await me(cookie);
    expect(whole.identity).toMatchObject({
      user: { email: `owner@${home.slug}.test` },
      principal: { id: home.ownerId, kind: 'human' },
      account: { id: home.accountId, slug: home.slug, status: 'active' },
      member_accounts: [{ id: home.accountId }],
      is_system_admin: true,
      tenantless: false,
      impersonation: null,
      auth_source: { auth: 'session' },
    });
    const { capabilities } = whole.identity.authz;
    expect(capabilities).toEqual([...new Set(capabilities)]);
    expect(capabilities).toContain('run.cancel');
    const { token } = (
      await app.call('POST', '/api/v1/agents/worker-token', { key: home.key, body: { agentId: 'probe' } })
    ).json;
    expect((await app.call('GET', '/auth/me', { key: token })).json.identity).toMatchObject({
      user: null,
      principal: { kind: 'agent' },
    });
    const robot = (await app.call('POST', '/api/v1/api-keys', { key: home.key, body: { name: 'r' } })).json;
    expect((await app.call('GET', '/auth/me', { key: robot.key })).json.identity).toMatchObject({
      principal: { kind: 'service_account' },
      is_system_admin: false,
      authz: { capabilities: [] },
    });
  });

  it('a member of no account is told so, and gets nothing else', async () => {
    const account = await app.account();
    const { cookie } = await signIn(account.key);
    await app.database.query(`UPDATE session SET in_account_id = NULL, principal_id = NULL WHERE in_account_id = $1`, [
      account.accountId,
    ]);
    expect((await me(cookie)).identity).toMatchObject({ tenantless: true, account: null, principal: null });
    const { status, json } = await app.call('GET', '/api/v1/runs', by(cookie));
    expect({ status, code: json.code }).toEqual({ status: 403, code: 'account.none' });
  });
});
