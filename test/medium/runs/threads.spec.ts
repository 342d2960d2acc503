import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Json } from '../../support/app.ts';
import type { StubWorker } from '../../support/stub-worker.ts';
import { Scene } from '../evidence/scene.ts';

const SNAPSHOT = {
  components: [{ kind: 'conversation', inline: { turns: ['hello \u2028'], seen: 9007199254740991 } }],
};

let scene: Scene;
let worker: StubWorker;
beforeAll(async () => {
  scene = await Scene.open();
  worker = await scene.worker();
});
afterAll(() => scene.close());

const revive = (runId: string, body?: object, headers: Record<string, string> = {}) =>
  scene.app.call('POST', `/api/v1/runs/${runId}/revive`, { key: scene.key, headers, ...(body ? { body } : {}) });

/** A run that has ended and left the state of its session. */
async function ended(snapshot: unknown = SNAPSHOT, input: object = { prompt: 'first' }): Promise<string> {
  worker = await scene.worker();
  const { json } = await scene.app.call('POST', '/api/v1/runs', {
    key: scene.key,
    body: { agent_id: worker.handle, input, labels: { team: 'blue' }, metadata: { ticket: 7 } },
  });
  await worker.claimSoon();
  await worker.start(json.run_id);
  await worker.complete(json.run_id, { text: 'one' }, { snapshot });
  return json.run_id;
}

describe('a run that has ended and left a snapshot', () => {
  it('is revivable, and revived is a new run of its thread that gets the snapshot untouched and the next input', async () => {
    const first = await ended();
    expect((await scene.run(first)).revivable).toBe(true);
    const { status, json } = await revive(first, { input: { prompt: 'second' } });
    expect({ status, json }).toMatchObject({
      status: 200,
      json: {
        status: 'queued',
        thread_id: first,
        input: { prompt: 'second' },
        labels: { team: 'blue' },
        metadata: { ticket: 7 },
      },
    });
    expect(json.run_id).not.toBe(first);
    const job = await worker.claimSoon();
    expect(job).toMatchObject({
      run_id: json.run_id,
      thread_id: first,
      input: { prompt: 'second' },
      snapshot: SNAPSHOT,
    });
    expect(job.snapshot).toEqual(SNAPSHOT);
  });

  it('without an input gets the same input again', async () => {
    const first = await ended();
    for (const body of [undefined, {}, { input: null }])
      expect((await revive(first, body)).json.input).toEqual({ prompt: 'first' });
  });

  it('may have failed', async () => {
    worker = await scene.worker();
    const runId = await scene.running(worker);
    await worker.fail(runId, 'ValueError: no', { snapshot: SNAPSHOT });
    expect((await scene.run(runId)).revivable).toBe(true);
    await revive(runId);
    expect((await worker.claimSoon()).snapshot).toEqual(SNAPSHOT);
  });

  it('begins a chain that is listed whole, the oldest first, whichever link was revived', async () => {
    const first = await ended();
    const chain = [first];
    for (const turn of ['second', 'third']) {
      const { json } = await revive(chain.at(-1) ?? '', { input: { turn } });
      await worker.claimSoon();
      await worker.start(json.run_id);
      await worker.complete(json.run_id, { text: turn }, { snapshot: { turn } });
      chain.push(json.run_id);
    }
    const listed = await scene.get(`/api/v1/runs?thread_id=${first}`);
    expect(listed.map((run: Json) => run.run_id)).toEqual(chain);
    await revive(first, { input: { turn: 'another way' } });
    expect((await worker.claimSoon()).snapshot).toEqual(SNAPSHOT); // of the link that was named, not of the last one
    expect(await scene.get(`/api/v1/runs?thread_id=${first}`)).toHaveLength(4);
  });

  it('is offered again with its snapshot when its worker was lost', async () => {
    const first = await ended();
    await revive(first);
    const { run_id: runId } = await worker.claimSoon();
    const job = await worker.claimSoon(); // asks for other work: it has lost the run
    expect(job).toMatchObject({ run_id: runId, attempt: 2, snapshot: SNAPSHOT });
  });

  it('hands over a snapshot that is nested as deep as a worker can read', async () => {
    const deep = JSON.parse(`${'{"in":'.repeat(149)}1${'}'.repeat(149)}`);
    await revive(await ended(deep));
    expect((await worker.claimSoon()).snapshot).toEqual(deep);
  });

  it('is revived once under one Idempotency-Key', async () => {
    const first = await ended();
    const key = { 'idempotency-key': 'the-same' };
    const answers = await Promise.all([
      revive(first, { input: { a: 1 } }, key),
      revive(first, { input: { a: 1 } }, key),
    ]);
    expect(new Set(answers.map(({ json }) => json.run_id)).size).toBe(1);
    expect((await revive(first, { input: { a: 2 } }, key)).json.code).toBe('idempotency.conflict');
  });
});

describe('a run that cannot be revived', () => {
  it.each([
    ['has not ended', async () => scene.queue((worker = await scene.worker()))],
    ['left no snapshot', () => ended(null)],
    [
      'was cancelled',
      async () => {
        const runId = await scene.running((worker = await scene.worker()));
        await scene.app.call('POST', `/api/v1/runs/${runId}/cancel`, { key: scene.key });
        return runId;
      },
    ],
    ['A11: left one that no worker can read', () => ended(JSON.parse(`${'{"in":'.repeat(160)}1${'}'.repeat(160)}`))],
  ])('%s, and says so', async (_, make) => {
    const runId = await make();
    const { status, json } = await revive(runId);
    expect({ status, code: json.code, detail: json.detail }).toEqual({
      status: 409,
      code: 'run.not_revivable',
      detail: expect.stringContaining('cannot be revived'),
    });
    expect(await scene.get(`/api/v1/runs?agent_id=${worker.handle}`)).toHaveLength(1);
  });

  it('is another account’s, and reads like one that does not exist', async () => {
    const runId = await ended();
    const stranger = await scene.app.account();
    const path = `/api/v1/runs/${runId}/revive`;
    expect(await scene.app.call('POST', path, { key: stranger.key })).toMatchObject({
      status: 404,
      json: { code: 'run.not_found' },
    });
  });

  it.each([{ input: [] }, { input: 'text' }, { input: { a: '\ud800' } }])('was asked for with %j', async (body) => {
    const runId = await ended();
    const { status, json } = await revive(runId, body);
    expect({ status, code: json.code, loc: json.detail[0].loc.slice(0, 2) }).toEqual({
      status: 422,
      code: 'input.invalid',
      loc: ['body', 'input'],
    });
  });
});

it('a snapshot that was spoilt on its way ends the run before a worker sees it', async () => {
  const first = await ended();
  const { json } = await revive(first);
  const deep = `${'{"in":'.repeat(160)}1${'}'.repeat(160)}`;
  await scene.app.database.query('UPDATE run SET prior_snapshot = $2::json WHERE id = $1', [json.run_id, deep]);
  expect(await worker.claim()).toBeUndefined();
  expect(await scene.run(json.run_id)).toMatchObject({
    status: 'failed',
    error: expect.stringMatching(/^job_refused: the snapshot/),
  });
});
