import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Json } from '../../support/app.ts';
import { startStub, type StubWorker } from '../../support/stub-worker.ts';
import { Scene, ended, started } from './scene.ts';

let scene: Scene;
let worker: StubWorker;
let golden: string;
let calls = 0;

const REPLAYS = { capabilities: { replay: ['every_tool'] }, use_cases: [{ slug: 'sample_run' }] };
const call = (tool: string, args: object, answer: object, more: object = {}): object[] => {
  const id = `call_${(calls += 1)}`;
  return [started(id, { name: tool, payload: { args } }), ended(id, { name: tool, payload: answer, ...more })];
};

beforeAll(async () => {
  scene = await Scene.open();
  worker = await startStub(scene.app, scene.key, {
    handle: 'replays',
    manifest: { agent_card: { name: 'replays', ...REPLAYS } },
  });
  golden = await record([
    ...call('lookup', { q: 'life', n: 42 }, { hits: [1], answer: 'first' }),
    ...call('weather', { city: 'Oslo' }, { value: 'rain' }),
    ...call('lookup', { n: 42, q: 'life' }, { hits: [2], answer: 'second' }),
    ...call('lookup', { q: 'death' }, { error: 'it broke' }, { status: 'error' }),
    ...call('dump', { size: 'x'.repeat(80_000) }, { blob: 'y'.repeat(80_000) }),
    started('open', { name: 'lookup', payload: { args: { q: 'never answered' } } }),
    started('think', { kind: 'chain' }),
    ended('think', { kind: 'chain' }),
  ]);
});
afterAll(() => scene.close());

/** A finished run with these events on record. */
async function record(events: readonly object[], input: object = { prompt: 'go' }): Promise<string> {
  await scene.queue(worker, input);
  return (await worker.serve({ text: 'done' }, events)).run_id;
}

const replay = (runId: string, body?: object, key = scene.key, headers = {}) =>
  scene.app.call('POST', `/api/v1/runs/${runId}/replay`, { key, body, headers });
const recording = async (runId: string, query = '') =>
  scene.app.call('GET', `/api/v1/runs/${runId}/recording${query}`, { key: scene.key });

/** A replay that the worker has started. */
async function replaying(runId = golden): Promise<string> {
  const { status, json } = await replay(runId);
  expect({ status, json }).toMatchObject({ status: 200 });
  const job = await worker.claimSoon();
  expect(job.run_id).toBe(json.run_id);
  await worker.start(job.run_id);
  return job.run_id;
}

async function answer(runId: string, tool: string, input: unknown, more: object = {}): Promise<Json> {
  const payload = { golden_run_id: golden, run_id: runId, tool_name: tool, tool_input: input, ...more };
  const { status, type, payload: said } = await worker.frame('replay_answer_request', payload);
  expect({ status, type }).toEqual({ status: 200, type: 'replay_answer' });
  return said;
}

const LIFE = { q: 'life', n: 42 };
const recorded = (tool_response: unknown, matched_seq: number) => ({
  ...{ source: 'recording', tool_response, matched_seq, match: 'exact' },
});
const NO_DATA = { source: 'no_data' };

describe('a recording', () => {
  it('is the tool calls that have ended, in the order in which they began', async () => {
    const { json } = await recording(golden);
    expect(json.map(({ index, tool_name, is_error }: Json) => [index, tool_name, is_error])).toEqual([
      [0, 'lookup', false],
      [1, 'weather', false],
      [2, 'lookup', false],
      [3, 'lookup', true],
      [4, 'dump', false],
    ]);
    expect(json[1]).toEqual({
      ...{ index: 1, span_id: expect.any(String), tool_name: 'weather', tool_input: { city: 'Oslo' } },
      ...{ tool_response: 'rain', is_error: false, masked: false, truncated: [] },
    });
    expect(json[4].truncated).toMatchObject([{ path: 'payload.args' }, { path: 'payload.blob' }]);
  });

  it('is read page by page, and who read it is on record', async () => {
    const first = await recording(golden, '?limit=2');
    const cursor = first.headers.get('x-next-cursor');
    const second = await recording(golden, `?limit=3&cursor=${cursor}`);
    expect([...first.json, ...second.json].map(({ index }: Json) => index)).toEqual([0, 1, 2, 3, 4]);
    expect(second.headers.get('x-next-cursor')).toBeNull();
    const rows = await scene.app.database.query(
      `SELECT outcome FROM audit_entry WHERE action = 'run.recording' AND target_id = $1`,
      [golden],
    );
    expect(rows.length).toBeGreaterThanOrEqual(2);
  });
});

describe('a replay', () => {
  it('is a run with the same input, an id that shows it, and the order to answer from the recording', async () => {
    const { json } = await replay(golden, { clock: '2026-01-01T00:00:00Z' });
    expect(json).toMatchObject({
      run_id: expect.stringMatching(/^run_replay_[0-9a-z]{26}$/),
      status: 'queued',
      origin: { kind: 'replay', id: golden },
      parent_run_id: golden,
      input: {
        prompt: 'go',
        agentops_replay: { golden_run_id: golden, mode: 'block', clock: '2026-01-01T00:00:00Z' },
      },
    });
    await worker.serve();
    const other = await replay(golden, { input: { prompt: 'other', agentops_replay: { golden_run_id: 'x' } } });
    expect(other.json.input).toEqual({ prompt: 'other', agentops_replay: { golden_run_id: golden, mode: 'block' } });
    await worker.serve();
  });

  it('answers the same tool and input as it was answered then, one recorded call after the other, and then no more', async () => {
    const runId = await replaying();
    expect(await answer(runId, 'weather', { city: 'Oslo' })).toEqual(recorded('rain', 1));
    expect(await answer(runId, 'lookup', LIFE)).toEqual(recorded({ hits: [1], answer: 'first' }, 0));
    expect(await answer(runId, 'lookup', LIFE)).toEqual(recorded({ hits: [2], answer: 'second' }, 2));
    expect(await answer(runId, 'lookup', LIFE)).toEqual(NO_DATA);
    expect(await answer(runId, 'lookup', { q: 'death' })).toEqual(recorded({ error: 'it broke' }, 3));
    expect(await answer(runId, 'lookup', { q: 'never answered' })).toEqual(NO_DATA);
    expect(await answer(runId, 'lookup', { q: 'life' })).toEqual(NO_DATA);
    expect(await answer(runId, 'Lookup', LIFE)).toEqual(NO_DATA);
    await worker.complete(runId, {});
  });

  it('answers large calls whole, though only their beginnings stand in the events', async () => {
    const runId = await replaying();
    expect(await answer(runId, 'dump', { size: 'x'.repeat(80_000) })).toEqual(
      recorded({ blob: 'y'.repeat(80_000) }, 4),
    );
    expect(await answer(runId, 'dump', { size: 'x'.repeat(79_999) })).toEqual(NO_DATA);
    await worker.complete(runId, {});
  });

  it('answers equal questions at once each with a call of its own, and the same frame again as before', async () => {
    const runId = await replaying();
    const answers = await Promise.all([1, 2, 3].map(() => answer(runId, 'lookup', LIFE)));
    expect(answers.map(({ matched_seq }) => matched_seq ?? null).sort()).toEqual([0, 2, null]);
    await worker.complete(runId, {});
    const again = await replaying();
    const envelope = { needsReply: true, id: 'msg_said_twice' };
    const payload = { golden_run_id: golden, run_id: again, tool_name: 'lookup', tool_input: LIFE };
    const first = await worker.frame('replay_answer_request', payload, envelope);
    const second = await worker.frame('replay_answer_request', payload, envelope);
    expect([first.payload.matched_seq, second.payload.matched_seq]).toEqual([0, 0]);
    await worker.complete(again, {});
  });

  it('of another attempt begins anew', async () => {
    await scene.app.call('PUT', '/api/v1/agents/replays/policy', {
      key: scene.key,
      body: { retry: { on: ['failed'], max_attempts: 2, backoff_seconds: 0 } },
    });
    const runId = await replaying();
    expect(await answer(runId, 'lookup', LIFE)).toMatchObject({ matched_seq: 0 });
    await worker.fail(runId, 'it broke');
    await worker.claimSoon();
    await worker.start(runId);
    expect(await answer(runId, 'lookup', LIFE)).toMatchObject({ matched_seq: 0 });
    await worker.complete(runId, {});
  });

  it('answers nothing from another run than it was ordered with, nor from another agent’s, nor to whoever does not hold it', async () => {
    const second = await record(call('lookup', LIFE, { answer: 'other' }));
    const runId = await replaying();
    expect(await answer(runId, 'lookup', LIFE, { golden_run_id: second })).toEqual(NO_DATA);
    const stranger = await startStub(scene.app, scene.key, { handle: 'stranger' });
    const question = { golden_run_id: golden, run_id: runId, tool_name: 'lookup', tool_input: LIFE };
    expect((await stranger.frame('replay_answer_request', question)).payload).toEqual(NO_DATA);
    const colleague = await startStub(scene.app, scene.key, { handle: 'replays', token: worker.token });
    expect((await colleague.frame('replay_answer_request', question)).payload).toEqual(NO_DATA);
    expect(await answer(runId, 'lookup', LIFE)).toMatchObject({ matched_seq: 0 }); // it goes on
    await worker.complete(runId, {});
    expect(await answer(runId, 'lookup', LIFE)).toEqual(NO_DATA);
    const foreign = await scene.queue(stranger);
    await stranger.serve({}, call('lookup', LIFE, { answer: 'secret of another agent' }));
    await scene.queue(worker, { agentops_replay: { golden_run_id: foreign } });
    const job = await worker.claimSoon();
    await worker.start(job.run_id);
    expect(await answer(job.run_id, 'lookup', LIFE, { golden_run_id: foreign })).toEqual(NO_DATA);
    await worker.complete(job.run_id, {});
  });

  it('repeated under its idempotency key is one run', async () => {
    const headers = { 'idempotency-key': 'replay-once' };
    const [one, two] = [await replay(golden, {}, scene.key, headers), await replay(golden, {}, scene.key, headers)];
    expect(two.json).toEqual(one.json);
    await worker.serve();
  });

  it('of a run that has not ended, or has no tool calls, is refused', async () => {
    const empty = await record([]);
    const open = await scene.queue(worker);
    for (const runId of [empty, open]) {
      const { status, json } = await replay(runId);
      expect({ status, code: json.code }).toEqual({ status: 409, code: 'run.not_replayable' });
    }
    await worker.serve();
    expect((await replay('run_none')).status).toBe(404);
  });

  it.each<[object, string]>([
    [{ mode: 'fall_through' }, 'mode'],
    [{ mode: 'block' }, 'mode'],
    [{ clock: 'yesterday' }, 'clock'],
    [{ clock: 'Nov 1 2026' }, 'clock'],
    [{ clock: '0000-01-01T00:00:00Z' }, 'clock'],
    [{ input: 'text' }, 'input'],
    [{ agent_id: 'another-agent' }, 'agent_id'],
  ])('with %j is refused, naming the field', async (body, field) => {
    await startStub(scene.app, scene.key, { handle: 'another-agent' });
    const { status, json } = await replay(golden, body);
    expect(status).toBe(422);
    expect(json.detail[0].loc).toEqual(['body', field]);
  });
});

describe('an order to replay, at an entry', () => {
  it.each<[unknown, (string | number)[]]>([
    [null, []],
    ['run_1', []],
    [{}, ['golden_run_id']],
    [{ golden_run_id: ' ' }, ['golden_run_id']],
    [{ golden_run_id: 'r', mode: 'live' }, ['mode']],
    [{ golden_run_id: 'r', clock: '2026-13-01T00:00:00Z' }, ['clock']],
    [{ golden_run_id: 'r', clock: '1 Nov 2026' }, ['clock']],
    [{ golden_run_id: 'r', intercept: 'bash' }, ['intercept']],
  ])('%j is refused, by whichever', async (order, at) => {
    const body = { input: { agentops_replay: order } };
    const answers = [
      await scene.app.call('POST', '/api/v1/runs', { key: scene.key, body: { agent_id: 'replays', ...body } }),
      await scene.app.call('POST', '/api/v1/agents/replays/invoke', { key: scene.key, body }),
    ];
    for (const { status, json } of answers) {
      expect(status).toBe(422);
      expect(json.detail[0].loc).toEqual(['body', 'input', 'agentops_replay', ...at]);
    }
  });
});
