import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Database } from '../../../src/platform/db/database.ts';
import { startApp, type RunningApp } from '../../support/app.ts';

const KEYS = '/api/v1/api-keys';

let app: RunningApp;
beforeAll(async () => void (app = await startApp()));
afterAll(() => app.stop());

describe('who is calling', () => {
  it.each([
    ['no credential', {}, 'auth.missing'],
    ['another scheme', { authorization: 'Basic b3duZXI6b3duZXI=' }, 'auth.missing'],
    ['an empty bearer', { authorization: 'Bearer ' }, 'auth.missing'],
    ['an unknown secret', { authorization: `Bearer sk_${'x'.repeat(43)}` }, 'auth.invalid'],
    ['an SQL fragment', { authorization: `Bearer ';DROP` }, 'auth.invalid'],
  ])('K-61: %s is a JSON 401', async (_what, headers, code) => {
    const answer = await app.call('GET', KEYS, { headers: { ...headers, accept: 'text/html' } });
    expect(answer).toMatchObject({
      status: 401,
      json: { code, detail: expect.any(String), request_id: expect.any(String) },
    });
    expect(answer.headers.get('www-authenticate')).toMatch(/^Bearer/);
  });

  it('K-85 U-2: ten failures from an address, then 429 for what nobody has; its reason is told of what somebody had', async () => {
    const throttling = await startApp({ database: app.database });
    try {
      const { key } = await throttling.account();
      const make = async (body: object) => (await throttling.call('POST', KEYS, { key, body })).json;
      const revoked = await make({ name: 'revoked' });
      await throttling.call('DELETE', `${KEYS}/${revoked.id}`, { key });
      const expired = await make({ name: 'expired' });
      await app.database.query(`UPDATE api_key SET expires_at = now() - interval '1 s' WHERE id = $1`, [expired.id]);
      const fresh = await make({ name: 'never used here', bound_to: 'user' });
      const told = async (secret: string) => {
        const { status, json, headers } = await throttling.call('GET', KEYS, { key: secret });
        return { status, code: json.code, wait: Number(headers.get('retry-after')) };
      };
      const guesses = [`sk_${'x'.repeat(43)}`, `wt_${'x'.repeat(43)}`, 'x', `${key}x`, key.slice(0, -1)];
      for (const guess of [...guesses, ...guesses])
        expect(await told(guess)).toEqual({ status: 401, code: 'auth.invalid', wait: 0 });
      for (const guess of guesses) {
        const { wait, ...answer } = await told(guess);
        expect(answer).toEqual({ status: 429, code: 'auth.throttled' });
        expect(wait).toBeGreaterThan(30);
        expect(wait).toBeLessThanOrEqual(60);
      }
      for (let time = 0; time < 2; time += 1) {
        expect(await told(revoked.key)).toEqual({ status: 401, code: 'auth.revoked', wait: 0 });
        expect(await told(expired.key)).toEqual({ status: 401, code: 'auth.expired', wait: 0 });
        expect(await throttling.call('GET', KEYS)).toMatchObject({ status: 401, json: { code: 'auth.missing' } });
        for (const good of [key, fresh.key]) expect(await told(good)).toMatchObject({ status: 200 });
      }
      expect(await app.call('GET', KEYS, { key: guesses[0] ?? '' })).toMatchObject({ status: 401 }); // each replica counts
    } finally {
      await throttling.stop();
    }
  });

  it('U-37: a credential in the query string is not looked at', async () => {
    const { key } = await app.account();
    for (const name of ['token', 'access_token', 'api_key', 'key', 'authorization']) {
      const answer = await app.call('GET', `${KEYS}?${name}=${key}`);
      expect(answer).toMatchObject({ status: 401, json: { code: 'auth.missing' } });
    }
  });

  it('K-60: headers that name somebody else change nothing', async () => {
    const [mine, theirs] = [await app.account(), await app.account()];
    const headers = {
      'x-account-id': theirs.accountId,
      'x-user': theirs.ownerId,
      'x-agent-id': 'agent_of_theirs',
      'x-principal-id': theirs.ownerId,
      'x-api-key': theirs.key,
    };
    const plain = await app.call('GET', KEYS, { key: mine.key });
    const dressed = await app.call('GET', KEYS, { key: mine.key, headers });
    expect(dressed.json).toEqual(plain.json);
    expect((await app.call('GET', KEYS, { headers })).status).toBe(401);
  });

  it('U-38: a dump of the database holds no secret in clear', async () => {
    const { key, accountId } = await app.account();
    const made = await app.call('POST', KEYS, { key, body: { name: 'to be found' } });
    const token = await app.call('POST', '/api/v1/agents/worker-token', { key, body: { agentId: 'dumped' } });
    const secrets = [key, made.json.key, token.json.token] as string[];
    const forms = secrets.flatMap((secret) => {
      const bytes = Buffer.from(secret);
      return [secret, bytes.toString('hex'), bytes.toString('base64')];
    });
    const tables = await app.database.query<{ name: string }>(
      `SELECT relname AS name FROM pg_class WHERE relkind IN ('r', 'p') AND relnamespace = 'public'::regnamespace`,
    );
    const found = await Promise.all(
      tables.map(async ({ name }) => {
        const text = `SELECT count(*)::int AS rows FROM "${name}" AS t
                       WHERE EXISTS (SELECT FROM unnest($1::text[]) AS form WHERE strpos(t::text, form) > 0)`;
        const [row] = await app.database.query<{ rows: number }>(text, [forms]);
        return { name, rows: row?.rows };
      }),
    );
    expect(tables.map(({ name }) => name)).toEqual(expect.arrayContaining(['api_key', 'worker_token', 'audit_entry']));
    expect(found.filter(({ rows }) => rows !== 0)).toEqual([]);
    const [row] = await app.database.query(`SELECT 1 FROM api_key WHERE account_id = $1 AND name = 'to be found'`, [
      accountId,
    ]);
    expect(row).toBeDefined();
  });
});

describe('U-46: the database itself keeps accounts apart', () => {
  it('a key or a role cannot be hung on a principal of another account', async () => {
    const [mine, theirs] = [await app.account(), await app.account()];
    const key = `INSERT INTO api_key (account_id, id, principal_id, name, scopes, secret_hash, created_by)
                 VALUES ($1, 'key_astray', $2, '', '{}', '\\x00', $2)`;
    const role = `INSERT INTO principal_role (account_id, principal_id, role_id) VALUES ($1, $2, 'role_admin')`;
    for (const statement of [key, role]) {
      await expect(app.database.query(statement, [mine.accountId, theirs.ownerId])).rejects.toMatchObject({
        code: '23503',
      });
    }
  });

  it('a session of one account sees and changes nobody else’s rows, whatever the statement forgets', async () => {
    const [mine, theirs] = [await app.account(), await app.account()];
    const database = app.nest.get(Database);
    const statement = (text: string) => ({ text, values: [] });
    await database.asAccount(mine.accountId, async (transaction) => {
      for (const table of ['api_key', 'principal', 'principal_role', 'worker_token', 'audit_entry']) {
        const rows = await transaction.query(
          statement(`SELECT 1 FROM ${table} WHERE account_id <> '${mine.accountId}'`),
        );
        expect({ table, rows }).toEqual({ table, rows: [] });
      }
      await transaction.query(statement('UPDATE api_key SET revoked_at = now()'));
    });
    expect(await app.call('GET', KEYS, { key: theirs.key })).toMatchObject({ status: 200 });
  });
});

describe('SIGNALBOX_AUTH=off', () => {
  let open: RunningApp;
  beforeAll(async () => void (open = await startApp({ env: { SIGNALBOX_AUTH: 'off' } })));
  afterAll(() => open.stop());

  it('K-62: whoever shows no credential is the first account’s owner; what is shown still counts', async () => {
    expect(await open.call('GET', KEYS)).toMatchObject({ status: 401 }); // there is no owner yet
    const first = await open.account();
    const second = await open.account();
    const made = await open.call('POST', KEYS, { body: { name: 'by nobody', bound_to: 'user' } });
    expect(made).toMatchObject({ status: 201, json: { principal_id: first.ownerId } });
    const theirs = await open.call('GET', KEYS, { key: second.key });
    expect(theirs.json).toMatchObject([{ principal_id: second.ownerId }]);
    expect((await open.call('GET', KEYS, { key: 'wrong' })).status).toBe(401);
  });

  it('K-62: with no setting at all authentication is on, and off is refused where others can reach it', async () => {
    expect(app.config.auth).toBe('on');
    await expect(startApp({ env: { SIGNALBOX_AUTH: 'off', HOST: '0.0.0.0' } })).rejects.toThrow('SIGNALBOX_AUTH');
  });
});
