import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startApp, type RunningApp } from '../../support/app.ts';
import { collect, joinDeltas, readEvents } from '../../support/events.ts';
import { present } from '../../support/rest.ts';
import { pause, startStub, type StubWorker } from '../../support/stub-worker.ts';

let app: RunningApp;
let key: string;
let worker: StubWorker;

beforeAll(async () => {
  app = await startApp({
    env: {
      SIGNALBOX_INVOKE_UNREACHABLE_SECONDS: '1',
      SIGNALBOX_CLAIM_WINDOW_SECONDS: '2',
      SIGNALBOX_SWEEP_SECONDS: '0.1',
    },
  });
  ({ key } = await app.account());
  worker = await startStub(app, key, {
    handle: 'echo',
    manifest: { input_schema: { type: 'object', properties: { n: { type: 'integer' } } } },
  });
});
afterAll(async () => {
  worker.close();
  await app.stop();
});

const invoke = (body: object, headers: Record<string, string> = {}, agent = 'echo') =>
  app.call('POST', `/api/v1/agents/${agent}/invoke`, { key, body, headers });

describe('invoke', () => {
  it('K-16, D-25, D-28: makes a run, hands the value of `input` to the worker, and answers with its end', async () => {
    const answering = invoke({ input: { n: 7, prompt: 'hé\u2028' }, metadata: { a: [1, null] } });
    const job = await worker.serve({ text: 'seven', seen: 7 });
    expect(job.input).toEqual({ n: 7, prompt: 'hé\u2028' });
    const { status, json } = await answering;
    expect([status, json]).toEqual([
      200,
      {
        run_id: job.run_id,
        event_id: job.event_id,
        agent_id: job.agent_id,
        status: 'succeeded',
        output: { text: 'seven', seen: 7 },
        error: null,
        usage: {},
      },
    ]);
    const run = (await app.call('GET', `/api/v1/runs/${job.run_id}`, { key })).json;
    expect(run).toMatchObject({
      status: 'succeeded',
      input: { n: 7, prompt: 'hé\u2028' },
      metadata: { a: [1, null] },
      worker_id: worker.id,
      transport: 'api_sync',
      origin: { kind: 'rest', id: null },
      attempt: 1,
    });
    expect(
      [run.created_at, run.claimed_at, run.started_at, run.finished_at].every((at: string) => at.endsWith('Z')),
    ).toBe(true);
  });

  it('K-21, D-18: answers 200 with the worker’s own error when the agent fails', async () => {
    const answering = invoke({});
    const job = await worker.claimSoon();
    await worker.start(job.run_id);
    await worker.fail(job.run_id, 'RuntimeError: no such key', { diagnostics: { num_turns: 1 } });
    expect((await answering).json).toMatchObject({ status: 'failed', error: 'RuntimeError: no such key' });
    expect((await app.call('GET', `/api/v1/runs/${job.run_id}`, { key })).json).toMatchObject({
      diagnostics: { num_turns: 1 },
    });
  });

  it('K-18: streams the run from its first state to `done`, deltas adding up to the text', async () => {
    const response = await fetch(`${app.url}/api/v1/agents/echo/invoke?stream=true`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: '{}',
    });
    expect(response.headers.get('content-type')).toMatch('text/event-stream');
    const events = collect(readEvents(present(response.body)));
    const outputs = ['one', 'one two', 'one two three'].map((text) => ({
      event_type: 'output.updated',
      payload: { text },
    }));
    await worker.serve({ text: 'one two three' }, outputs);
    const seen = await events;
    expect(joinDeltas(seen)).toBe('one two three');
    expect(seen.map(({ event }) => event)).toEqual([
      'run.status',
      'run.status',
      'run.status',
      'message.delta',
      'message.delta',
      'message.delta',
      'message.completed',
      'output',
      'run.status',
      'done',
    ]);
    expect(seen.at(-1)).toMatchObject({
      event: 'done',
      data: { status: 'succeeded', output: { text: 'one two three' } },
    });
  });

  it('refuses an input that the agent’s schema refuses, and makes no run', async () => {
    const before = (await app.call('GET', '/api/v1/runs', { key })).json.length;
    const { status, json } = await invoke({ input: { n: 'seven' } });
    expect([status, json.code, json.detail[0].loc]).toEqual([422, 'input.invalid', ['body', 'input', 'n']]);
    expect((await app.call('GET', '/api/v1/runs', { key })).json).toHaveLength(before);
  });

  it.each([
    ['a lone surrogate', '{"input":{"a":"\\ud800"}}', ['body', 'input', 'a']],
    ['an integer that no double holds', '{"input":{"a":[9007199254740993]}}', ['body', 'input', 'a', 0]],
    ['200 levels of nesting', `{"input":{"a":${'['.repeat(200)}${']'.repeat(200)}}}`, ['body']],
    [
      'a replay order without a golden run',
      '{"input":{"agentops_replay":{}}}',
      ['body', 'input', 'agentops_replay', 'golden_run_id'],
    ],
    ['a replay order that is no object', '{"input":{"agentops_replay":7}}', ['body', 'input', 'agentops_replay']],
  ])('A11: refuses poison at the entry: %s', async (_, body, loc) => {
    for (const path of ['/api/v1/agents/echo/invoke', '/api/v1/runs']) {
      const whole = path.endsWith('runs') ? body.replace('{', '{"agent_id":"echo",') : body;
      const { status, json } = await app.call('POST', path, { key, body: whole });
      expect([status, json.detail[0].loc]).toEqual([422, loc]);
    }
  });

  it('K-22: fails as unreachable when the agent has no assignable worker, and says why', async () => {
    await app.call('POST', '/api/v1/agents/worker-token', { key, body: { agentId: 'quiet' } });
    const silent = await startStub(app, key, { handle: 'silent' }); // registers, and never asks for work
    const began = Date.now();
    const { status, json } = await invoke({}, {}, 'silent');
    expect([status, json.status]).toEqual([200, 'failed']);
    expect(json.error).toMatch(/^unreachable: no worker of the agent asks for work/);
    expect(Date.now() - began).toBeLessThan(5_000);
    expect(await silent.claim()).toBeUndefined();
  });

  it('K-22: lets a run wait for a busy worker, and one of POST /runs for any', async () => {
    const busy = await startStub(app, key, { handle: 'busy' });
    const first = invoke({}, {}, 'busy');
    const job = await busy.claimSoon();
    await busy.start(job.run_id);
    const second = invoke({}, {}, 'busy');
    const queued = (await app.call('POST', '/api/v1/runs', { key, body: { agent_id: 'silent' } })).json;
    for (let beat = 0; beat < 12; beat += 1) {
      await pause(250);
      await busy.frame('keep_alive', {}, {});
    }
    await busy.complete(job.run_id, {});
    const [next] = await Promise.all([busy.serve({ n: 2 }), first]);
    expect((await second).json).toMatchObject({ run_id: next.run_id, status: 'succeeded', output: { n: 2 } });
    expect((await app.call('GET', `/api/v1/runs/${queued.run_id}`, { key })).json.status).toBe('queued');
  });

  it('U-3, F-50: one Idempotency-Key is one run and one answer, also while the first is running', async () => {
    const headers = { 'idempotency-key': 'key-1' };
    const answers = Array.from({ length: 50 }, () => invoke({ input: { n: 1 } }, headers));
    const job = await worker.serve({ once: true });
    const bodies = new Set((await Promise.all(answers)).map(({ status, text }) => `${status} ${text}`));
    expect([...bodies]).toEqual([expect.stringMatching(`^200 .*${job.run_id}`)]);
    expect(await worker.claim()).toBeUndefined();
    expect(await invoke({ input: { n: 2 } }, headers)).toMatchObject({
      status: 409,
      json: { code: 'idempotency.conflict' },
    });
    const again = await fetch(`${app.url}/api/v1/agents/echo/invoke?stream=true`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ input: { n: 1 } }),
    });
    expect((await collect(readEvents(present(again.body)))).at(-1)).toMatchObject({
      event: 'done',
      data: { run_id: job.run_id },
    });
  });

  it('one event_id of an agent is one run; with another input it is refused', async () => {
    const answers = Array.from({ length: 20 }, () =>
      app.call('POST', '/api/v1/agents/echo/invoke', { key, body: { event_id: 'evt-mine', input: { n: 3 } } }),
    );
    const job = await worker.serve({});
    expect(job.event_id).toBe('evt-mine');
    expect(new Set((await Promise.all(answers)).map(({ json }) => json.run_id))).toEqual(new Set([job.run_id]));
    expect(await invoke({ event_id: 'evt-mine', input: { n: 4 } })).toMatchObject({
      status: 409,
      json: { code: 'idempotency.conflict' },
    });
  });

  it('a closed connection never ends a run', async () => {
    const leaving = new AbortController();
    const gone = fetch(`${app.url}/api/v1/agents/echo/invoke`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: '{}',
      signal: leaving.signal,
    }).catch(() => undefined);
    const job = await worker.claimSoon();
    leaving.abort();
    await gone;
    await worker.start(job.run_id);
    expect((await worker.complete(job.run_id, {})).payload).toMatchObject({ accepted: true, status: 'succeeded' });
  });

  it('answers 404 for an agent that does not exist', async () => {
    expect(await invoke({}, {}, 'nobody')).toMatchObject({ status: 404, json: { code: 'agent.not_found' } });
  });
});
