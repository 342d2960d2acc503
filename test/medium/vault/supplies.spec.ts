import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { KEY_RING, type KeyRing } from '../../../src/platform/crypto/key-ring.ts';
import { Sweeper } from '../../../src/platform/sweep/sweep.ts';
import { HandedOut } from '../../../src/vault/index.ts';
import { startApp, type RunningApp } from '../../support/app.ts';
import { CREDENTIALS, VaultScene } from './scene.ts';

let app: RunningApp;
let scene: VaultScene;
let handles = 0;

beforeAll(async () => {
  app = await startApp();
});
beforeEach(async () => {
  scene = new VaultScene(app, await app.account());
});
afterAll(() => app.stop());

const TOKEN = expect.stringMatching(/^srt_/);
const fresh = (): string => `agent-${(handles += 1)}`;

describe('a job', () => {
  it('D-9 D-12: brings what is bound to its agent, in its own part and nowhere else, and the run token', async () => {
    const worker = await scene.worker(fresh());
    await scene.give(worker, 'bound', 'hush-bound-value');
    await scene.store('unbound', 'hush-unbound-value');
    await scene.bind(await scene.store('other', 'hush-other-value'), 'somebody-else');
    const { secrets, ...rest } = await scene.job(worker);
    expect(secrets).toEqual({ bound: 'hush-bound-value', AGENTOPS_MCP_TOKEN: TOKEN });
    expect(JSON.stringify(rest)).not.toContain('hush-');
  });

  it('of an agent without bindings brings the run token only', async () => {
    const worker = await scene.worker(fresh());
    expect((await scene.job(worker)).secrets).toEqual({ AGENTOPS_MCP_TOKEN: TOKEN });
    expect(await scene.handOuts()).toEqual([]);
  });

  it('brings a value that was bound under both names of the agent once', async () => {
    const worker = await scene.worker(fresh());
    const id = await scene.give(worker, 'twice', 'v');
    const { agent_id: agentId } = await scene.job(worker);
    await worker.frame('run_failed', { run_id: (await runs())[0], error: 'x' });
    await scene.bind(id, agentId, true);
    expect((await scene.job(worker)).secrets).toEqual({ twice: 'v', AGENTOPS_MCP_TOKEN: TOKEN });
  });

  it.each([
    ['0.4.13', { db: { 'user-name': 'u', pass: 'p' }, plain: 'v' }],
    ['0.3.14', { DB__USER_NAME: 'u', DB__PASS: 'p', plain: 'v' }],
    ['0.2.0', { DB__USER_NAME: 'u', DB__PASS: 'p', plain: 'v' }],
    [null, { DB__USER_NAME: 'u', DB__PASS: 'p', plain: 'v' }],
  ])('A12: brings values with parts in the form that SDK %s takes', async (sdk_version, secrets) => {
    const worker = await scene.worker(fresh(), { sdk_version });
    await scene.give(worker, 'db', '{"user-name":"u","pass":"p","none":""}');
    await scene.give(worker, 'plain', 'v');
    expect((await scene.job(worker)).secrets).toEqual({ ...secrets, AGENTOPS_MCP_TOKEN: TOKEN });
  });

  it('D-11 N-21: a changed value comes with the next run, and the run in flight is left alone', async () => {
    const worker = await scene.worker(fresh());
    const id = await scene.give(worker, 'rotated', 'hush-first');
    const first = await scene.job(worker);
    expect((await scene.replace(id, 'hush-second')).status).toBe(200);
    expect((await scene.run(first.run_id)).status).toBe('claimed');
    await worker.frame('run_completed', { run_id: first.run_id, output: {} });
    expect((await scene.job(worker)).secrets.rotated).toBe('hush-second');
    expect(first.secrets.rotated).toBe('hush-first');
  });

  it('of a run that is offered again brings what is in force then', async () => {
    const worker = await scene.worker(fresh());
    const id = await scene.give(worker, 'rotated', 'hush-first');
    const first = await scene.job(worker);
    await scene.replace(id, 'hush-second');
    const { payload } = await worker.frame('run_claim'); // whoever asks again has lost what it held
    expect(payload.job).toMatchObject({ run_id: first.run_id, attempt: 2, secrets: { rotated: 'hush-second' } });
    expect(await app.nest.get(HandedOut).valuesFor(scene.account.accountId, first.run_id)).toEqual(
      expect.arrayContaining(['hush-first', 'hush-second', first.secrets.AGENTOPS_MCP_TOKEN]),
    );
  });

  it('goes on when its credential is unbound, disabled or deleted; the next one is as it was decided', async () => {
    const worker = await scene.worker(fresh());
    const [a, b] = [await scene.give(worker, 'a', 'va'), await scene.give(worker, 'b', 'vb')];
    const first = await scene.job(worker);
    await scene.call('DELETE', `${CREDENTIALS}/${a}`);
    await scene.call('DELETE', `${CREDENTIALS}/${b}/bindings/${worker.handle}`);
    await worker.frame('run_started', { run_id: first.run_id });
    await worker.frame('run_completed', { run_id: first.run_id, output: { fine: true } });
    expect((await scene.run(first.run_id)).status).toBe('succeeded');
    expect((await scene.job(worker)).secrets).toEqual({ AGENTOPS_MCP_TOKEN: TOKEN });
  });

  it('leaves on record what went out to whom, without the values, and when it was used', async () => {
    const worker = await scene.worker(fresh());
    const id = await scene.give(worker, 'noted', 'hush-noted');
    const { run_id } = await scene.job(worker);
    expect(await scene.handOuts()).toEqual([
      {
        target_kind: 'run',
        target_id: run_id,
        detail: expect.objectContaining({
          worker_id: worker.id,
          attempt: 1,
          credentials: [{ id, name: 'noted', version: 1 }],
        }),
      },
    ]);
    const { last_used_at: used, updated_at, created_at } = (await scene.call('GET', `${CREDENTIALS}/${id}`)).json;
    expect([Date.parse(used) >= Date.parse(created_at), updated_at]).toEqual([true, created_at]);
  });
});

describe('F-33: a run whose credential may not go out', () => {
  it.each(['disabled', 'unopenable'])(
    'ends at dispatch and says why, and the next run is handed out: %s',
    async (why) => {
      const worker = await scene.worker(fresh());
      const id = await scene.give(worker, 'needed', 'hush-needed');
      await scene.give(worker, 'fine', 'hush-fine');
      const needing = await scene.order(worker.handle);
      if (why === 'disabled') await scene.call('PATCH', `${CREDENTIALS}/${id}`, { status: 'disabled' });
      else
        await app.database.query(`UPDATE credential_value SET sealed_key_id = 'lost' WHERE credential_id = $1`, [id]);
      expect((await worker.frame('run_claim')).payload).toEqual({});
      const run = await scene.run(needing);
      expect(run).toMatchObject({ status: 'failed', started_at: null });
      expect(run.error).toMatch(/^credential_disabled: .*needed/);
      const { reason } = (await scene.call('GET', `/api/v1/runs/${needing}/explain`)).json;
      expect(reason).toMatchObject({ code: 'end.credential_disabled' });
      expect(reason.message).not.toContain('hush');
      const restored = why === 'disabled' ? { status: 'active' } : {};
      await app.database.query(`UPDATE credential_value SET sealed_key_id = 'test' WHERE credential_id = $1`, [id]);
      await scene.call('PATCH', `${CREDENTIALS}/${id}`, restored);
      expect((await scene.job(worker)).secrets).toMatchObject({ needed: 'hush-needed', fine: 'hush-fine' });
    },
  );

  it('U-39: a sealed value that was moved to another row opens nothing', async () => {
    const worker = await scene.worker(fresh());
    const id = await scene.give(worker, 'mine', 'hush-mine');
    const other = await scene.store('other', 'hush-other');
    await app.database.query(
      `UPDATE credential_value SET sealed = (SELECT sealed FROM credential_value WHERE credential_id = $2) WHERE credential_id = $1`,
      [id, other],
    );
    const run = await scene.order(worker.handle);
    expect((await worker.frame('run_claim')).payload).toEqual({});
    expect((await scene.run(run)).error).toBe('credential_disabled: the value of mine cannot be opened');
  });

  it('A11: nor does a secret leave that no environment takes, however it came into the table', async () => {
    const worker = await scene.worker(fresh());
    await scene.give(worker, 'poison', '{"a":"b"}');
    const run = await scene.order(worker.handle);
    await replant(worker.handle, '{"a":"\\ud800"}');
    expect((await worker.frame('run_claim')).payload).toEqual({});
    expect((await scene.run(run)).error).toMatch(/^job_refused: a secret/);
  });
});

describe('on demand', () => {
  it('a worker gets what is bound so, outside of any run, and that is on record', async () => {
    const worker = await scene.worker(fresh());
    const id = await scene.give(worker, 'pulled', 'hush-pulled', true);
    await scene.give(worker, 'parts', '{"a":"hush-part"}', true);
    await scene.give(worker, 'job-only', 'hush-job');
    const { type, payload } = await worker.frame('secrets_request');
    expect([type, payload]).toEqual([
      'secrets_bundle',
      { secrets: { pulled: 'hush-pulled', parts: { a: 'hush-part' } } },
    ]);
    expect(await scene.handOuts()).toEqual([
      {
        target_kind: 'agent',
        target_id: expect.any(String),
        detail: expect.objectContaining({
          worker_id: worker.id,
          credentials: [
            { id: expect.any(String), name: 'parts', version: 1 },
            { id, name: 'pulled', version: 1 },
          ],
        }),
      },
    ]);
    expect((await scene.job(worker)).secrets).toHaveProperty('pulled', 'hush-pulled');
  });

  it('a worker that knows no frames gets the same as texts, each part of a value by itself', async () => {
    const worker = await scene.worker(fresh());
    const id = await scene.give(worker, 'pulled', 'hush-pulled', true);
    await scene.give(worker, 'db-parts', '{"a":"hush-part"}', true);
    await scene.give(worker, 'job-only', 'hush-job');
    const { status, json } = await scene.call('GET', '/api/v1/workers/secrets', undefined, worker.token);
    expect([status, json]).toEqual([200, { secrets: { pulled: 'hush-pulled', DB_PARTS__A: 'hush-part' } }]);
    expect(await scene.handOuts()).toMatchObject([{ target_kind: 'agent', detail: { credentials: [{}, { id }] } }]);
    const { run_id } = await scene.job(worker);
    expect(await app.nest.get(HandedOut).valuesFor(scene.account.accountId, run_id)).toContain('hush-pulled');
    await app.database.query(`UPDATE credential_pull SET pulled_at = now() - interval '25 hours'`);
    await forget();
    expect(await app.database.query('SELECT 1 FROM credential_pull WHERE credential_id = $1', [id])).toHaveLength(1);
    expect((await scene.call('GET', '/api/v1/workers/secrets')).status).toBe(403);
  });

  it('a disabled one is not given, and an agent without any gets none and leaves no row', async () => {
    const worker = await scene.worker(fresh());
    expect((await worker.frame('secrets_request')).payload).toEqual({ secrets: {} });
    const id = await scene.give(worker, 'off', 'v', true);
    await scene.call('PATCH', `${CREDENTIALS}/${id}`, { status: 'disabled' });
    expect((await worker.frame('secrets_request')).payload).toEqual({ secrets: {} });
    expect(await scene.handOuts()).toEqual([]);
  });
});

describe('what was handed out', () => {
  const valuesFor = (runId: string, accountId = scene.account.accountId) =>
    app.nest.get(HandedOut).valuesFor(accountId, runId);

  it('is known of a run, each part by itself, with its tokens and what its agent’s workers pulled', async () => {
    const worker = await scene.worker(fresh());
    await scene.give(worker, 'one', 'hush-one');
    await scene.give(worker, 'parts', '{"a":"hush-a","b":"hush-b"}');
    await scene.give(worker, 'pulled', 'hush-pulled', true);
    const { run_id, secrets } = await scene.job(worker);
    const known = await valuesFor(run_id);
    expect(known).toEqual(
      expect.arrayContaining(['hush-one', 'hush-a', 'hush-b', 'hush-pulled', secrets.AGENTOPS_MCP_TOKEN]),
    );
    const later = await scene.give(worker, 'later', 'hush-later', true);
    await worker.frame('secrets_request');
    await scene.replace(later, 'hush-latest');
    expect(await valuesFor(run_id)).toContain('hush-later');
    expect(await valuesFor(run_id)).not.toContain('hush-latest');
  });

  it('is kept sealed although its credential was deleted, and forgotten some time after the run’s end', async () => {
    const worker = await scene.worker(fresh());
    const id = await scene.give(worker, 'kept', 'hush-kept');
    const { run_id } = await scene.job(worker);
    await scene.call('DELETE', `${CREDENTIALS}/${id}`);
    await age('credential_handout SET handed_out_at', id);
    await age('credential_value SET superseded_at', id);
    await forget();
    expect(await valuesFor(run_id)).toContain('hush-kept');
    await worker.frame('run_completed', { run_id, output: {} });
    await forget();
    expect(await valuesFor(run_id)).toContain('hush-kept');
    await app.database.query(`UPDATE run SET finished_at = now() - interval '25 hours' WHERE id = $1`, [run_id]);
    await forget();
    expect(await valuesFor(run_id)).not.toContain('hush-kept');
    expect(await app.database.query('SELECT 1 FROM credential_value WHERE credential_id = $1', [id])).toEqual([]);
  });

  it('of what is in force nothing is forgotten', async () => {
    const id = await scene.store('in-force', 'v');
    await app.database.query(
      `UPDATE credential_value SET created_at = now() - interval '1 year' WHERE credential_id = $1`,
      [id],
    );
    await forget();
    expect(await app.database.query('SELECT 1 FROM credential_value WHERE credential_id = $1', [id])).toHaveLength(1);
  });

  it('is none of another account, nor of a run that is not there', async () => {
    const worker = await scene.worker(fresh());
    await scene.give(worker, 'mine', 'v');
    const { run_id } = await scene.job(worker);
    expect(await valuesFor(run_id, (await app.account()).accountId)).toEqual([]);
    expect(await valuesFor('run_none')).toEqual([]);
  });
});

async function runs(handle?: string): Promise<string[]> {
  const { json } = await scene.call('GET', `/api/v1/runs${handle === undefined ? '' : `?agent_id=${handle}`}`);
  return json.map(({ run_id }: { run_id: string }) => run_id);
}

async function forget(): Promise<void> {
  await app.nest.get(Sweeper).now('vault.forget_handed_out');
}

async function age(column: string, credentialId: string): Promise<void> {
  await app.database.query(`UPDATE ${column} = now() - interval '25 hours' WHERE credential_id = $1`, [credentialId]);
}

/** Puts a value into the table past every check. */
async function replant(handle: string, value: string): Promise<void> {
  const [row] = await app.database.query<{ id: string }>(
    'SELECT credential_id AS id FROM credential_binding WHERE account_id = $1 AND agent_ref = $2',
    [scene.account.accountId, handle],
  );
  const binding = `credential_value/${scene.account.accountId}/${row?.id}/1`;
  const { bytes } = app.nest.get<KeyRing>(KEY_RING).seal(value, binding);
  await app.database.query('UPDATE credential_value SET sealed = $2 WHERE credential_id = $1', [row?.id, bytes]);
}
