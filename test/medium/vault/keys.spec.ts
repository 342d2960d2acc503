import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { createApp } from '../../../src/app.ts';
import { StartRefused, readConfig } from '../../../src/platform/config/config.ts';
import { RunTokens } from '../../../src/identity/index.ts';
import { KeyRing } from '../../../src/platform/crypto/key-ring.ts';
import { Sweeper } from '../../../src/platform/sweep/sweep.ts';
import { openKeyRing } from '../../../src/start.ts';
import { startApp, type AppOptions, type Json, type RunningApp } from '../../support/app.ts';
import { createSuiteDatabase } from '../../support/suite-database.ts';
import { eventually } from '../../support/rest.ts';
import { CREDENTIALS, VaultScene } from './scene.ts';

const KEYS = '/api/v1/vault/keys';
const ROTATE = '/api/v1/vault/rotate-key';

let directory: string;
const apps: RunningApp[] = [];

beforeAll(() => {
  directory = fs.mkdtempSync(path.join(os.tmpdir(), 'vault-keys-'));
});
afterEach(async () => {
  for (const app of apps.splice(0).reverse()) await app.stop();
});
afterAll(() => fs.rmSync(directory, { recursive: true }));

let files = 0;
const newFile = (): string => path.join(directory, `keys-${(files += 1)}.json`);
const inFile = (file: string): { active: string; keys: Record<string, string> } =>
  JSON.parse(fs.readFileSync(file, 'utf8'));

/** The first account is the one whose owner looks after the installation. */
async function start(keyRing: KeyRing, options: AppOptions = {}): Promise<VaultScene> {
  const app = await startApp({ ...options, keyRing });
  apps.push(app);
  return new VaultScene(app, await app.account());
}

const key = (fill: number): string => Buffer.alloc(32, fill).toString('base64');
const ringOf = (keys: Readonly<Record<string, string>>, active: string): KeyRing =>
  KeyRing.parse(JSON.stringify({ active, keys }), 'test');
const sweep = ({ app }: VaultScene): Promise<void> => app.nest.get(Sweeper).now('vault.seal_again');

async function ended(scene: VaultScene, { rotation_id }: Json): Promise<Json> {
  return eventually(async () => {
    const { json } = await scene.call('GET', `/api/v1/vault/rotations/${rotation_id}`);
    expect(json.state).not.toBe('running');
    return json;
  });
}

const sealedWith = async ({ app }: VaultScene): Promise<Json> =>
  Object.fromEntries(
    (
      await app.database.query<{ key: string; amount: number }>(
        `SELECT sealed_key_id AS key, count(*)::int AS amount FROM (
           SELECT sealed_key_id FROM credential_value UNION ALL SELECT sealed_key_id FROM api_key WHERE sealed IS NOT NULL) AS all_of_them
          GROUP BY 1`,
      )
    ).map(({ key: id, amount }) => [id, amount]),
  );

describe('U-39: a rotation', () => {
  it('takes a new key into use, seals everything again, and then the old key may go: runs still get their secrets', async () => {
    const file = newFile();
    const scene = await start(KeyRing.load(file, true));
    const before = inFile(file).active;
    const worker = await scene.worker('rotating');
    for (let at = 0; at < 230; at += 1) await scene.store(`c-${at}`, `value-${at}`);
    await scene.give(worker, 'bound', 'hush-bound');
    const made = (await scene.call('POST', '/api/v1/api-keys', { name: 'sealed too' })).json;
    const waiting = await scene.worker('waiting');
    const old = await scene.job(waiting);
    const reveal = async () => (await scene.call('GET', `/api/v1/api-keys/${made.id}/reveal`)).json.key;

    const { status, json } = await scene.call('POST', ROTATE, { reason: 'it may have leaked' });
    const { active: after } = inFile(file);
    expect([status, json]).toEqual([
      202,
      expect.objectContaining({ state: 'running', from_key: before, to_key: after, total: 232, done: 0, error: null }),
    ]);
    expect(after).not.toBe(before);
    await scene.job(worker); // reads and writes go on
    expect(await ended(scene, json)).toMatchObject({ state: 'done', done: 232, finished_at: expect.any(String) });
    expect(await sealedWith(scene)).toEqual({ [after]: 232 });
    expect(await reveal()).toBe(made.key);
    expect((await scene.call('GET', KEYS)).json).toMatchObject([
      { key_id: before, state: 'decrypt_only', values: 0, source: 'file' }, // the token of a live run was signed with it
      { key_id: after, state: 'active', values: 232 },
    ]);
    const tokens = scene.app.nest.get(RunTokens);
    expect(await tokens.prove(old.secrets.AGENTOPS_MCP_TOKEN)).toMatchObject({ runId: old.run_id });
    await waiting.frame('run_completed', { run_id: old.run_id, output: {} });
    const textWaits = `tails = '\\x00', tails_at = now(), tails_key_id = '${before}'`;
    await scene.app.database.query(`UPDATE run SET ${textWaits} WHERE id = $1`, [old.run_id]);
    expect((await scene.call('GET', KEYS)).json[0]).toMatchObject({ key_id: before, state: 'decrypt_only' });
    const nothingWaits = 'tails = NULL, tails_at = NULL, tails_key_id = NULL';
    await scene.app.database.query(`UPDATE run SET ${nothingWaits} WHERE id = $1`, [old.run_id]);
    expect((await scene.call('GET', KEYS)).json[0]).toMatchObject({ key_id: before, state: 'retired' });

    fs.writeFileSync(file, JSON.stringify({ active: after, keys: { [after]: inFile(file).keys[after] } }));
    const again = await startApp({ database: scene.app.database, keyRing: KeyRing.load(file, false) });
    try {
      const later = new VaultScene(again, scene.account);
      expect((await later.job(await later.worker('rotating'))).secrets.bound).toBe('hush-bound');
    } finally {
      await again.stop();
    }
  });

  it('leaves on record who began it and why', async () => {
    const scene = await start(KeyRing.load(newFile(), true));
    const { json } = await scene.call('POST', ROTATE, { reason: 'on Mondays' });
    const rows = await scene.app.database.query(
      `SELECT target_id, actor_id, detail FROM audit_entry WHERE action = 'vault.rotate_key' AND outcome = 'done'`,
    );
    expect(rows).toEqual([
      {
        target_id: json.to_key,
        actor_id: scene.account.ownerId,
        detail: expect.objectContaining({
          from_key: json.from_key,
          reason: 'on Mondays',
          rotation_id: json.rotation_id,
        }),
      },
    ]);
  });

  it('runs alone', async () => {
    const scene = await start(KeyRing.load(newFile(), true));
    await scene.app.database.query(
      `INSERT INTO key_rotation (id, from_key, to_key, total, started_by) VALUES ('rot_1', 'a', 'b', 1, 'x')`,
    );
    const { status, json } = await scene.call('POST', ROTATE);
    expect([status, json.code]).toEqual([409, 'vault.rotation_running']);
  });

  it('fails by name over a value that does not open, seals the others again, and leaves that one as it is', async () => {
    const scene = await start(KeyRing.load(newFile(), true));
    const bad = await scene.store('bad', 'hush-bad');
    for (const name of ['good', 'better']) await scene.store(name, 'v');
    await scene.app.database.query(
      `UPDATE credential_value SET sealed = sealed || '\\x00'::bytea WHERE credential_id = $1`,
      [bad],
    );
    const { json } = await scene.call('POST', ROTATE, {});
    const end = await ended(scene, json);
    expect(end).toMatchObject({ state: 'failed', done: 2, total: 3 });
    expect(end.error).toContain(`credential_value/${scene.account.accountId}/${bad}/1`);
    expect(await sealedWith(scene)).toEqual({ [json.from_key]: 1, [json.to_key]: 2 });
    expect((await scene.call('GET', KEYS)).json[0]).toMatchObject({ state: 'decrypt_only', values: 1 });
  });
});

describe('keys from the environment', () => {
  it('are not made here: the operator adds one, and then it is taken', async () => {
    const database = await createSuiteDatabase();
    try {
      const first = await startApp({ database, keyRing: ringOf({ old: key(1) }, 'old') });
      const before = new VaultScene(first, await first.account());
      const id = await before.store('kept', 'hush-kept');
      const refused = await before.call('POST', ROTATE);
      expect([refused.status, refused.json.code]).toEqual([409, 'vault.key_not_writable']);
      await first.stop();
      const added = await startApp({ database, keyRing: ringOf({ old: key(1), new: key(2) }, 'old') });
      const scene = new VaultScene(added, before.account);
      expect((await scene.call('GET', KEYS)).json).toMatchObject([
        { key_id: 'old', state: 'active', values: 1, source: 'environment' },
        { key_id: 'new', state: 'decrypt_only', values: 0 },
      ]);
      const { status, json } = await scene.call('POST', ROTATE);
      expect([status, json.from_key, json.to_key]).toEqual([202, 'old', 'new']);
      expect(await ended(scene, json)).toMatchObject({ state: 'done', done: 1 });
      expect((await scene.call('GET', `${CREDENTIALS}/${id}`)).json.key_id).toBe('new');
      await added.stop();
    } finally {
      await database.drop();
    }
  });
});

describe('several replicas', () => {
  it('take no key into use that one of them does not know', async () => {
    const file = newFile();
    const one = await start(KeyRing.load(file, true));
    const shared = inFile(file);
    const two = await start(ringOf(shared.keys, shared.active), { database: one.app.database });
    const refused = await one.call('POST', ROTATE);
    expect([refused.status, refused.json.code]).toEqual([409, 'vault.key_not_shared']);
    expect(inFile(file)).toEqual(shared);
    await two.app.stop();
    apps.splice(apps.indexOf(two.app), 1);
    expect((await one.call('POST', ROTATE)).status).toBe(202);
  });

  it('follow the one that took it, and what another sealed with the old one meanwhile is sealed again', async () => {
    const keys = { old: key(1), new: key(2) };
    const one = await start(ringOf(keys, 'old'));
    const two = new VaultScene(
      await startApp({ database: one.app.database, keyRing: ringOf(keys, 'old') }),
      one.account,
    );
    apps.push(two.app);
    await one.store('first', 'v');
    expect((await one.call('POST', ROTATE)).status).toBe(202);
    await two.store('late', 'hush-late'); // it has not looked yet
    await sweep(two);
    await two.store('later', 'v');
    await sweep(one);
    expect(await sealedWith(one)).toEqual({ new: 3 });
  });

  it('share the work, and count each value once', async () => {
    const keys = { old: key(1), new: key(2) };
    const one = await start(ringOf(keys, 'old'));
    const two = await startApp({ database: one.app.database, keyRing: ringOf(keys, 'old') });
    apps.push(two);
    for (let at = 0; at < 300; at += 30)
      await Promise.all(Array.from({ length: 30 }, (_, index) => one.store(`c-${at + index}`, `value-${at + index}`)));
    const { json } = await one.call('POST', ROTATE);
    const both = [one.app, two].map(({ nest }) => nest.get(Sweeper));
    const rounds = Array.from({ length: 3 }, () => both).flat();
    await Promise.all(rounds.map((sweeper) => sweeper.now('vault.seal_again')));
    expect(await ended(one, json)).toMatchObject({ state: 'done', done: 300, total: 300 });
    expect(await one.app.database.query('SELECT done FROM key_rotation')).toEqual([{ done: 300 }]);
    expect(await sealedWith(one)).toEqual({ new: 300 });
  });

  it('a key that one is started with is used once all know it, by itself', async () => {
    const both = { old: key(1), new: key(2) };
    const one = await start(ringOf({ old: key(1) }, 'old'));
    const two = new VaultScene(
      await startApp({ database: one.app.database, keyRing: ringOf(both, 'new') }),
      one.account,
    );
    await two.store('first', 'hush-first');
    await sweep(two);
    expect(await sealedWith(one)).toEqual({ old: 1 });
    const worker = await one.worker('reader');
    await one.bind((await one.call('GET', CREDENTIALS)).json[0].id, 'reader');
    expect((await one.job(worker)).secrets.first).toBe('hush-first');
    await one.app.nest.close(); // the old one goes
    await sweep(two);
    expect(await sealedWith(two)).toEqual({ new: 1 });
    await two.app.stop();
  });

  it('that seal with a key which a further one does not have stop its start, and say which', async () => {
    const scene = await start(ringOf({ old: key(1) }, 'old'));
    const stranger = createApp({
      config: readConfig({}),
      databaseUrl: scene.app.database.url,
      keyRing: ringOf({ other: key(3) }, 'other'),
    });
    const refusal: unknown = await stranger.catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(StartRefused);
    expect(String(refusal)).toContain('sealed with the key old');
    const empty = fs.mkdtempSync(path.join(directory, 'empty-'));
    await expect(openKeyRing(readConfig({}), empty, scene.app.database.url)).rejects.toThrow('keys.json is missing');
  });
});

describe('a key that is lost for good', () => {
  it('takes its values with it, and a start with a new one is possible once they are given up', async () => {
    const database = await createSuiteDatabase();
    try {
      const first = await startApp({ database, keyRing: ringOf({ lost: key(1) }, 'lost') });
      const before = new VaultScene(first, await first.account());
      await before.give(await before.worker('survivor'), 'lost', 'hush-lost');
      await before.call('POST', '/api/v1/api-keys', { name: 'sealed' });
      await first.stop();
      const empty = fs.mkdtempSync(path.join(directory, 'empty-'));
      await expect(openKeyRing(readConfig({}), empty, database.url)).rejects.toThrow('keys.json is missing');
      const [, statements = ''] =
        /as the owner of the tables, `([^`]+)`/.exec(fs.readFileSync('docs/runbook.md', 'utf8')) ?? [];
      await database.query(statements.replaceAll('\n', ' '));
      const second = await startApp({ database, keyRing: await openKeyRing(readConfig({}), empty, database.url) });
      const after = new VaultScene(second, before.account);
      const worker = await after.worker('survivor');
      await after.give(worker, 'again', 'hush-again');
      expect((await after.job(worker)).secrets).toMatchObject({ again: 'hush-again' });
      await second.stop();
    } finally {
      await database.drop();
    }
  });
});

describe('the keys of an installation', () => {
  it('are for the owner of its first account only, with a whole key', async () => {
    const scene = await start(KeyRing.load(newFile(), true));
    const narrow = { name: 'narrow', bound_to: 'user', scopes: ['vault_keys:write'] };
    const others = [
      (await scene.app.account()).key,
      (await scene.call('POST', '/api/v1/api-keys', { name: 'admin', role_ids: ['role_admin'] })).json.key,
      (await scene.call('POST', '/api/v1/api-keys', narrow)).json.key,
      (await scene.worker('no-admin')).token,
    ];
    for (const other of others)
      for (const [method, address] of [
        ['GET', KEYS],
        ['POST', ROTATE],
        ['GET', '/api/v1/vault/rotations/rot_none'],
      ] as const)
        expect([address, (await scene.call(method, address, undefined, other)).status]).toEqual([address, 403]);
    const owners = (await scene.call('POST', '/api/v1/api-keys', { name: 'mine', bound_to: 'user' })).json.key;
    expect((await scene.call('GET', KEYS, undefined, owners)).status).toBe(200);
    expect((await scene.call('GET', '/api/v1/vault/rotations/rot_none')).json.code).toBe('vault.rotation_not_found');
  });
});
