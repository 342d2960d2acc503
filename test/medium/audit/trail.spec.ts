import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { startApp, type Json, type RunningApp } from '../../support/app.ts';

const KEYS = '/api/v1/api-keys';

let app: RunningApp;
let owner: { readonly accountId: string; readonly ownerId: string; readonly key: string };

beforeAll(async () => {
  app = await startApp();
  owner = await app.account();
});
afterAll(() => app.stop());

async function rowsAbout(target: string): Promise<Json> {
  return (await app.call('GET', `/api/v1/audit?target=${target}&order=asc`, { key: owner.key })).json;
}

describe('the record of a deed', () => {
  it('K-72: tells actor, time, action, target, outcome and request', async () => {
    const headers = { 'x-request-id': 'request-of-this-test' };
    const { json: made } = await app.call('POST', KEYS, { key: owner.key, headers, body: { name: 'recorded' } });
    const rows = await rowsAbout(made.id);
    expect(rows).toEqual([
      {
        id: expect.stringMatching(/^aud_/),
        created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        category: 'identity',
        action: 'api_key.create',
        operation: 'identity.create_api_key',
        status: 'success',
        actor_type: 'person',
        actor_principal_id: owner.ownerId,
        impersonator_principal_id: null,
        detail: expect.objectContaining({
          outcome: 'done',
          target: { kind: 'api_key', id: made.id },
          request_id: 'request-of-this-test',
          address: '127.0.0.1',
          name: 'recorded',
          credential_id: expect.stringMatching(/^key_/),
        }),
      },
    ]);
    expect(JSON.stringify(rows)).not.toContain(made.key);
  });

  it('K-75: a refused and a failed attempt leave one row each, although nothing else was committed', async () => {
    const { json: viewer } = await app.call('POST', KEYS, {
      key: owner.key,
      body: { name: 'viewer', role_ids: ['role_viewer'] },
    });
    await app.call('DELETE', `${KEYS}/key_refused`, { key: viewer.key });
    await app.call('DELETE', `${KEYS}/key_missing`, { key: owner.key });
    await app.call('POST', KEYS, { key: viewer.key, body: { name: 7 } });
    expect(await rowsAbout('key_refused')).toMatchObject([
      { status: 'failure', actor_type: 'service_account', detail: { outcome: 'refused', code: 'access.denied' } },
    ]);
    expect(await rowsAbout('key_missing')).toMatchObject([
      { status: 'failure', actor_type: 'person', detail: { outcome: 'failed', code: 'api_key.not_found' } },
    ]);
    const { json } = await app.call('GET', `/api/v1/audit?actor_principal_id=${viewer.principal_id}&q=api_key.create`, {
      key: owner.key,
    });
    expect(json).toMatchObject([{ detail: { outcome: 'refused', code: 'input.invalid', at: ['body.name'] } }]);
  });

  it('K-73: is in the deed’s own transaction: if it cannot be written, the deed is undone and the caller told', async () => {
    await app.database.query(`
      CREATE FUNCTION refuse_entry() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION 'no room on the record'; END $$;
      CREATE TRIGGER refuse_entry BEFORE INSERT ON audit_entry FOR EACH ROW EXECUTE FUNCTION refuse_entry()`);
    try {
      const answer = await app.call('POST', KEYS, { key: owner.key, body: { name: 'unrecorded' } });
      expect(answer).toMatchObject({ status: 500, json: { code: 'internal' } });
    } finally {
      await app.database.query('DROP TRIGGER refuse_entry ON audit_entry; DROP FUNCTION refuse_entry()');
    }
    expect(await app.database.query(`SELECT 1 FROM api_key WHERE name = 'unrecorded'`)).toEqual([]);
    expect(await app.database.query(`SELECT 1 FROM principal WHERE name = 'unrecorded'`)).toEqual([]);
    expect((await app.call('POST', KEYS, { key: owner.key, body: { name: 'recorded again' } })).status).toBe(201);
  });

  it('carries the transaction that wrote it', async () => {
    const { json: made } = await app.call('POST', KEYS, { key: owner.key, body: { name: 'numbered' } });
    const rows = await app.database.query<{ same: boolean }>(
      `SELECT a.xact::text = (k.xmin::text) AS same FROM audit_entry a JOIN api_key k ON k.id = a.target_id WHERE k.id = $1`,
      [made.id],
    );
    expect(rows).toEqual([{ same: true }]);
  });

  it('is written whatever the caller sent: long and hostile names are cut and cleaned', async () => {
    const various = String.fromCodePoint(...Array.from({ length: 150 }, (_, index) => 0x1_f300 + index * 3));
    const long = encodeURIComponent(various.repeat(3));
    expect((await app.call('DELETE', `${KEYS}/${long}`, { key: owner.key })).status).toBe(404);
    expect((await app.call('DELETE', `${KEYS}/${'x'.repeat(900)}%00`, { key: owner.key })).status).toBe(422);
    const problems = { name: 'many', scopes: Array.from({ length: 100 }, () => 'no scope') };
    expect((await app.call('POST', KEYS, { key: owner.key, body: problems })).status).toBe(422);
    const { json } = await app.call('GET', '/api/v1/audit?limit=3&status=failure', { key: owner.key });
    expect(json[0].detail.at).toHaveLength(51);
    expect(json[0].detail.at[50]).toBe('… 50 more');
    expect(json[1]).toMatchObject({ action: 'api_key.revoke', detail: { target: null, at: ['path.key_id'] } }); // NUL is no name
    expect(json[2].detail.target.id).toBe(`${various.repeat(3).slice(0, 500)}…`);
  });
});

describe('K-71: rows can be added, and neither changed nor removed', () => {
  const CHANGES = [`UPDATE audit_entry SET outcome = 'done'`, 'DELETE FROM audit_entry', 'TRUNCATE audit_entry'];

  async function as(role: string | undefined, work: (client: pg.Client) => Promise<void>): Promise<void> {
    const options = role === undefined ? {} : { options: `-c role=${role}` };
    const client = new pg.Client({ connectionString: app.database.url, ...options });
    await client.connect();
    try {
      await client.query(`SELECT set_config('app.account', $1, false)`, [owner.accountId]);
      await work(client);
    } finally {
      await client.end();
    }
  }

  it.each(['signalbox_app', 'signalbox_system'])('not as %s', async (role) => {
    await as(role, async (client) => {
      const { rows } = await client.query('SELECT 1 FROM audit_entry LIMIT 1');
      expect(rows).toHaveLength(1);
      for (const change of CHANGES) await expect(client.query(change)).rejects.toMatchObject({ code: '42501' });
    });
  });

  it('not even as the owner of the table', async () => {
    await as(undefined, async (client) => {
      for (const change of CHANGES) await expect(client.query(change)).rejects.toThrow('append-only');
    });
  });

  it('and no route offers it', async () => {
    const [row] = (await app.call('GET', '/api/v1/audit?limit=1', { key: owner.key })).json;
    for (const method of ['PUT', 'PATCH', 'DELETE', 'POST'] as const) {
      for (const path of ['/api/v1/audit', `/api/v1/audit/${row.id}`]) {
        expect((await app.call(method, path, { key: owner.key, body: {} })).status).toBe(404);
      }
    }
  });
});
