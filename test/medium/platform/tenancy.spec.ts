import { randomUUID } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Controller } from '@nestjs/common';
import pg from 'pg';
import { z } from 'zod';
import { createApp } from '../../../src/app.ts';
import { Accounts } from '../../../src/identity/index.ts';
import { readConfig, StartRefused } from '../../../src/platform/config/config.ts';
import { KeyRing } from '../../../src/platform/crypto/key-ring.ts';
import { Database } from '../../../src/platform/db/database.ts';
import { assertWalled } from '../../../src/platform/db/session-check.ts';
import { Handles } from '../../../src/platform/operation/handles.ts';
import { operation, unaudited, type In, type OpContext } from '../../../src/platform/operation/operation.ts';
import { openDatabase, openKeyRing } from '../../../src/start.ts';
import { startApp, type RunningApp } from '../../support/app.ts';
import { createSuiteDatabase, type SuiteDatabase } from '../../support/suite-database.ts';

const leak = operation({
  id: 'runs.test_leak',
  summary: 'Forgets the account, on purpose.',
  http: { method: 'GET', path: '/test/leak', status: 200 },
  capability: 'run.read',
  input: {},
  output: z.object({ accounts: z.record(z.string(), z.array(z.string())) }),
  faults: [],
});
const plant = operation({
  id: 'runs.test_plant',
  summary: 'Writes a row into another account, on purpose.',
  http: { method: 'POST', path: '/test/plant', status: 200 },
  capability: 'run.read',
  audit: unaudited('a test'),
  input: { body: z.object({ account: z.string(), way: z.enum(['sql', 'prisma', 'update']) }) },
  output: z.object({}),
  faults: [],
});

const ADD = 'INSERT INTO worker (account_id, id, agent_id, token_id) VALUES ($1, $2, $3, $3)';
/** Tables with an `account_id`: each is asked without a WHERE. */
let tenantTables: string[] = [];

@Controller()
class Careless {
  @Handles(leak) async leak(ctx: OpContext) {
    const accounts: Record<string, string[]> = {};
    for (const table of tenantTables.filter((name) => name !== 'outbox_message')) {
      const rows = await ctx.sql<{ id: string }>(`SELECT DISTINCT account_id AS id FROM ${table}`);
      accounts[table] = rows.map(({ id }) => id);
    }
    const [byPrisma, keys] = [await ctx.db.worker.findMany(), await ctx.db.apiKey.findMany()];
    accounts['worker by Prisma'] = [...new Set(byPrisma.map(({ accountId }) => accountId))];
    accounts['api_key by Prisma'] = [...new Set(keys.map(({ accountId }) => accountId))];
    accounts['account'] = (await ctx.sql<{ id: string }>('SELECT id FROM account')).map(({ id }) => id);
    return { accounts };
  }
  @Handles(plant) async plant(ctx: OpContext, { account, way }: In<typeof plant>) {
    const planted = { accountId: account, id: 'planted', agentId: 'none', tokenId: 'none' };
    if (way === 'sql') await ctx.sql(ADD, [account, 'planted', 'none']);
    if (way === 'prisma') await ctx.db.worker.create({ data: planted });
    if (way === 'update') await ctx.sql('UPDATE worker SET account_id = $1', [account]);
    return {};
  }
}

let app: RunningApp;
let mine: { readonly accountId: string; readonly key: string };
let theirs: { readonly accountId: string; readonly key: string };
beforeAll(async () => {
  app = await startApp({ controllers: [Careless] });
  [mine, theirs] = [await app.account(), await app.account()];
  const rows = await app.database.query<{ name: string }>(
    `SELECT c.relname AS name FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'account_id'
      WHERE c.relnamespace = 'public'::regnamespace AND (c.relkind = 'p' OR c.relkind = 'r' AND NOT c.relispartition)`,
  );
  tenantTables = rows.map(({ name }) => name).sort();
  for (const { accountId } of [mine, theirs]) await app.database.query(ADD, [accountId, 'shared-name', 'none']);
});
afterAll(() => app.stop());

describe('U-46: a service that forgets the account', () => {
  it('reads nothing of another account, in any table, by SQL or by Prisma', async () => {
    const { json } = await app.call('GET', '/test/leak', { key: mine.key });
    const seen = Object.values<string[]>(json.accounts).flat();
    expect(new Set(seen)).toEqual(new Set([mine.accountId]));
    for (const table of [
      'worker',
      'worker by Prisma',
      'api_key',
      'api_key by Prisma',
      'principal',
      'audit_entry',
      'account',
    ]) {
      expect([table, json.accounts[table]]).toEqual([table, [mine.accountId]]);
    }
  });

  it.each(['sql', 'prisma', 'update'])('writes nothing into another account (%s)', async (way) => {
    const { status } = await app.call('POST', '/test/plant', {
      key: mine.key,
      body: { account: theirs.accountId, way },
    });
    expect(status).toBe(500);
    expect(await app.database.query(`SELECT 1 FROM worker WHERE id = 'planted'`)).toEqual([]);
    expect(await app.database.query(`SELECT 1 FROM worker WHERE account_id = $1`, [theirs.accountId])).toHaveLength(1);
  });
});

describe('the database', () => {
  it('has a wall around every table with an account, whichever room it is of', async () => {
    expect(tenantTables.length).toBeGreaterThan(10);
    const rows = await app.database.query<{ name: string; walls: string[] }>(
      `SELECT c.relname AS name, array_agg(p.polname || ' ' || pg_get_expr(p.polqual, p.polrelid) ORDER BY p.polname)::text[] AS walls
         FROM pg_class c JOIN pg_policy p ON p.polrelid = c.oid WHERE c.relrowsecurity AND c.relforcerowsecurity GROUP BY 1`,
    );
    const walls = new Map(rows.map(({ name, walls: texts }) => [name, texts]));
    for (const table of tenantTables) {
      expect([table, walls.get(table)]).toEqual([
        table,
        ['every_account true', 'own_account (account_id = current_account())'],
      ]);
    }
    for (const table of tenantTables) {
      const [key] = await app.database.query<{ first: string }>(
        `SELECT a.attname AS first FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0] WHERE i.indrelid = $1::regclass AND i.indisprimary`,
        [table],
      );
      expect([table, key?.first]).toEqual([table, 'account_id']);
    }
  });

  it('lets one account use the name that another uses, and binds no row to another account’s', async () => {
    expect(await app.database.query(`SELECT 1 FROM worker WHERE id = 'shared-name'`)).toHaveLength(2);
    const [other] = await app.database.query<{ id: string }>('SELECT id FROM principal WHERE account_id = $1', [
      theirs.accountId,
    ]);
    const stray = app.database.query(
      'INSERT INTO principal_role (account_id, principal_id, role_id) VALUES ($1, $2, $3)',
      [mine.accountId, other?.id, 'role_viewer'],
    );
    await expect(stray).rejects.toThrow('foreign key');
  });

  it('K-71: lets nobody rewrite what was put on record, system work and owner included', async () => {
    const database = app.nest.get(Database);
    const before = await app.database.query('SELECT * FROM audit_entry ORDER BY id');
    expect(before.length).toBeGreaterThan(0);
    for (const text of [`UPDATE audit_entry SET detail = '{}'`, 'DELETE FROM audit_entry', 'TRUNCATE audit_entry']) {
      await expect(database.asAccount(mine.accountId, (own) => own.query({ text, values: [] }))).rejects.toThrow(
        'permission denied',
      );
      await expect(database.asSystem('test', (all) => all.query({ text, values: [] }))).rejects.toThrow(
        'permission denied',
      );
      await expect(app.database.query(text)).rejects.toThrow('audit_entry is append-only');
    }
    expect(await app.database.query('SELECT * FROM audit_entry ORDER BY id')).toEqual(before);
  });

  it('shows an account’s session nothing of the installation', async () => {
    const database = app.nest.get(Database);
    for (const table of ['replica', 'credential_watch']) {
      await expect(
        database.asAccount(mine.accountId, (own) => own.query({ text: `SELECT 1 FROM ${table}`, values: [] })),
      ).rejects.toThrow('permission denied');
    }
  });

  it('finds rows of an account by index, policies and all', async () => {
    const client = new pg.Client({
      connectionString: app.database.url,
      options: '-c role=signalbox_app -c enable_seqscan=off -c enable_bitmapscan=off',
    });
    await client.connect();
    try {
      await app.database.query(
        `INSERT INTO worker (account_id, id, agent_id, token_id) SELECT $1, 'many-' || n, 'none', 'none' FROM generate_series(1, 2000) AS n`,
        [mine.accountId],
      );
      await app.database.query('ANALYZE worker');
      await client.query(`SELECT set_config('app.account', $1, false)`, [mine.accountId]);
      const plan = async (sql: string): Promise<string> => {
        const { rows } = await client.query<{ 'QUERY PLAN': string }>(`EXPLAIN ${sql}`);
        return rows.map((row) => row['QUERY PLAN']).join('\n');
      };
      const account = `account_id = '${mine.accountId}'`;
      expect(await plan(`SELECT * FROM worker WHERE ${account} AND id = 'w'`)).toMatch(
        /Index Scan using worker_pkey[\s\S]*Index Cond: .*id = 'w'/,
      );
      expect(await plan(`SELECT * FROM run WHERE ${account} AND id = 'r'`)).toMatch(
        /Index Scan using run_pkey[\s\S]*Index Cond: .*id = 'r'/,
      );
      expect(
        await plan(
          `SELECT * FROM run WHERE ${account} AND agent_id = 'a' AND status = 'queued' ORDER BY priority DESC, queued_at, id LIMIT 1`,
        ),
      ).toMatch(/^Limit[\s\S]*Index Scan using run_live on run[\s\S]*Index Cond: .*agent_id = 'a'/);
      expect(await plan(`SELECT * FROM audit_entry WHERE ${account} ORDER BY at DESC, id DESC LIMIT 10`)).toMatch(
        /Index Scan using audit_entry_account_id_at_id_idx/,
      );
      const log = await plan(
        `SELECT * FROM run_log WHERE ${account} AND run_id = 'r' AND day = current_date AND seq > 5 ORDER BY seq LIMIT 10`,
      );
      expect(log).toMatch(/Index Scan using run_log_\d{8}_pkey[\s\S]*Index Cond: .*run_id = 'r'.*seq > 5/);
      expect(log).toMatch(/Subplans Removed|run_log_\d{8}/);
    } finally {
      await client.end();
    }
  });
});

describe('the start', () => {
  it('refuses a session that sees through the walls', async () => {
    await expect(check('', 'signalbox_app')).rejects.toThrow(
      'DATABASE_URL: sessions must run as signalbox_app, not as signalbox',
    );
    await expect(check('', 'signalbox')).rejects.toThrow('the role signalbox sees through row-level security');
    await expect(check('', 'signalbox')).rejects.toBeInstanceOf(StartRefused);
    await expect(check('-c role=signalbox_app', 'signalbox_app')).resolves.toBeUndefined();
  });

  it('refuses a session that owns a tenant table, by membership too', async () => {
    const database = await createSuiteDatabase();
    const [owner, member] = [newRole(), newRole()];
    try {
      for (const sql of [
        `CREATE ROLE ${owner}`,
        `CREATE ROLE ${member} IN ROLE ${owner}`,
        `ALTER TABLE run OWNER TO ${owner}`,
      ])
        await database.query(sql);
      for (const role of [owner, member])
        await expect(check(`-c role=${role}`, role, database)).rejects.toThrow(`the role ${role} owns run`);
    } finally {
      await database.query(`ALTER TABLE run OWNER TO signalbox`);
      for (const role of [member, owner]) await database.query(`DROP ROLE ${role}`);
      await database.drop();
    }
  });

  it.each([
    ['ALTER TABLE run NO FORCE ROW LEVEL SECURITY', 'run'],
    ['ALTER TABLE run_span DISABLE ROW LEVEL SECURITY', 'run_span'],
    ['CREATE TABLE forgotten (account_id text, id text)', 'forgotten'],
  ])('refuses a tenant table without a wall (%s)', async (sql, table) => {
    const database = await createSuiteDatabase();
    try {
      await database.query(sql);
      const foundations = { config: readConfig({}), databaseUrl: database.url, keyRing: someKeys() };
      await expect(createApp(foundations)).rejects.toThrow(
        `DATABASE_URL: there is no forced row-level security on ${table}`,
      );
    } finally {
      await database.drop();
    }
  });

  it('needs no superuser: an owner that may take the two roles migrates and serves', async () => {
    const { database, url, role } = await ownedDatabase('WITH INHERIT FALSE, SET TRUE');
    try {
      const config = readConfig({ DATABASE_URL: url, SIGNALBOX_LOG_LEVEL: 'error' });
      const opened = await openDatabase(config, os.tmpdir());
      const directory = fs.mkdtempSync(`${os.tmpdir()}/keys-`);
      const keyRing = await openKeyRing(config, directory, opened.url);
      const started = await createApp({ config, databaseUrl: opened.url, keyRing });
      const made = await started.nest.get(Accounts).create({ slug: 'owned', ownerEmail: 'o@owned.test' });
      await started.nest.listen(0, '127.0.0.1');
      const response = await fetch(`${await started.nest.getUrl()}/api/v1/api-keys`, {
        headers: { authorization: `Bearer ${made.key}` },
      });
      expect(response.status).toBe(200);
      const inside = started.nest.get(Database);
      expect(await inside.asAccount('another', () => inside.prisma.principal.count())).toBe(0);
      expect(await inside.asAccount(made.accountId, () => inside.prisma.principal.count())).toBeGreaterThan(0);
      await started.close();
      fs.rmSync(directory, { recursive: true });
    } finally {
      await forget(database, role);
    }
  });

  it('tells an owner that may not take the roles what a superuser has to say once, and saying it helps', async () => {
    const { database, url, role } = await ownedDatabase(undefined);
    try {
      const config = readConfig({ DATABASE_URL: url });
      const refusal: unknown = await openDatabase(config, os.tmpdir()).catch((error: unknown) => error);
      if (!(refusal instanceof StartRefused)) throw new Error('It was not refused');
      expect(refusal.message).toMatch(/^DATABASE_URL: its login may neither take nor make the roles/);
      expect(await database.query(`SELECT 1 FROM pg_tables WHERE schemaname = 'public'`)).toEqual([]);
      const statements = refusal.message.split('\n').filter((line) => line.startsWith('  '));
      const grants = statements.filter((line) => !line.includes('CREATE ROLE')); // this server has them
      expect([statements.length, grants.length]).toEqual([2, 1]);
      for (const grant of grants) await database.query(grant);
      await expect(openDatabase(config, os.tmpdir())).resolves.toMatchObject({ url });
    } finally {
      await forget(database, role);
    }
  });

  it('refuses to go on without the keys that opened what the database holds', async () => {
    const config = readConfig({
      SIGNALBOX_KEYS: JSON.stringify({ active: 'other', keys: { other: Buffer.alloc(32).toString('base64') } }),
    });
    const directory = fs.mkdtempSync(`${os.tmpdir()}/keys-`);
    await app.call('POST', '/api/v1/api-keys', { key: mine.key, body: { name: 'sealed' } });
    await expect(openKeyRing(config, directory, app.database.url)).rejects.toThrow(
      'The database holds values that were sealed with test, which neither SIGNALBOX_KEYS nor keys.json has',
    );
    await expect(openKeyRing(readConfig({}), directory, app.database.url)).rejects.toThrow(
      `${directory}/keys.json is missing`,
    );
    expect(fs.readdirSync(directory)).toEqual([]);
    fs.rmSync(directory, { recursive: true });
  });
});

function newRole(): string {
  return `owner_${randomUUID().slice(0, 8)}`;
}

function someKeys(): KeyRing {
  return KeyRing.parse(JSON.stringify({ active: 'a', keys: { a: Buffer.alloc(32, 1).toString('base64') } }), 'test');
}

/** An empty database of a login that is no superuser and may make no roles; `grant` is how it holds the two. */
async function ownedDatabase(
  grant: string | undefined,
): Promise<{ database: SuiteDatabase; url: string; role: string }> {
  const database = await createSuiteDatabase('empty');
  const role = newRole();
  const name = new URL(database.url).pathname.slice(1);
  await database.query(`CREATE ROLE ${role} LOGIN PASSWORD 'not-so-secret' NOCREATEROLE`);
  if (grant !== undefined) await database.query(`GRANT signalbox_app, signalbox_system TO ${role} ${grant}`);
  await database.query(`ALTER DATABASE ${name} OWNER TO ${role}`);
  return {
    database,
    role,
    url: Object.assign(new URL(database.url), { username: role, password: 'not-so-secret' }).toString(),
  };
}

async function forget(database: SuiteDatabase, role: string): Promise<void> {
  await database.query(`DROP OWNED BY ${role} CASCADE`);
  await database.query(`ALTER DATABASE ${new URL(database.url).pathname.slice(1)} OWNER TO signalbox`);
  await database.query(`DROP ROLE ${role}`);
  await database.drop();
}

async function check(options: string, role: string, { url }: SuiteDatabase = app.database): Promise<void> {
  const pool = new pg.Pool({ connectionString: url, max: 1, options });
  await assertWalled(pool, role).finally(() => pool.end());
}
