import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { collect, joinDeltas, type StreamEvent } from '../support/events.ts';
import { describeSdk, type Sdk } from '../support/python.ts';
import { eventually } from '../support/rest.ts';
import { endWorkers, type WorkerProcess } from '../support/worker-process.ts';
import type { InvokeAnswer, RunView } from './views.ts';
import { handleFor, World } from './world.ts';

const RUNS_OF_TWO_WORKERS = 200;

let world: World;
beforeAll(async () => {
  world = await World.open();
}, 90_000);
afterAll(() => world.close(), 60_000);

await describeSdk('one run', (sdk) => {
  afterAll(endWorkers);
  describe('start-up', () => startUp(sdk));
  describe('invoke', () => invoke(sdk));
  describe('streamed invoke', () => streamedInvoke(sdk));
  describe('failure', () => failure(sdk));
  describe('two processes of one agent', () => twoProcesses(sdk));
});

function startUp(sdk: Sdk): void {
  const handle = handleFor(sdk, 'start-up');
  let worker: WorkerProcess;
  beforeAll(async () => {
    const directory = fileURLToPath(new URL('workers/skills-example', import.meta.url));
    worker = await world.worker(sdk, handle, { directory });
  }, 40_000);

  it('K-1 K-2 K-59: the first register makes the agent appear online, as its manifest describes it', async () => {
    expect(await world.agent(handle)).toMatchObject({
      id_slug: handle,
      status: 'online',
      name: 'Probe',
      description: 'Does what its input says',
      version: '1.0.0',
      owner: 'tests@example.test',
      model: 'claude-sonnet-4-5',
      labels: { team: 'tests' },
      input_schema: { type: 'object', properties: { mode: { type: 'string' } } },
      agent_card: { name: 'Probe', capabilities: { streaming: true }, skills: [{ name: 'Greet' }] },
      is_enabled: true,
    });
  });

  it('K-2 worker-protocol §23.19: the worker is an instance of its agent, free, and offers no address to be dialled', async () => {
    const agent = await world.agent(handle);
    expect(agent).toMatchObject({ endpoint_url: null, instances_total: 1, instances_free: 1, instances_busy: 0 });
    const [instance] = agent.instances;
    expect(instance).toMatchObject({
      worker_id: worker.id,
      is_online: true,
      busy: false,
      version: '1.0.0',
      endpoint_url: null,
    });
    expect(instance).toHaveProperty('sdk_version', sdk.version === '0.3.0' ? null : sdk.version);
  });

  it('K-6 K-28: process, channel and claim are seen as three separate lights', async () => {
    await eventually(async () => {
      expect(await world.rest.ask('GET', `/api/v1/workers/${worker.id}`)).toMatchObject({
        state: 'online',
        dialect: '0.3',
        presence: { window_seconds: 90 },
        lights: {
          process: { state: 'ok' },
          channel: { state: 'ok' },
          claim: { state: 'ok' },
          events: { state: 'unused' },
        },
      });
    });
  });

  it('K-72: registering with a new manifest leaves an audit row', async () => {
    const rows = await world.rest.ask<Record<string, unknown>[]>('GET', '/api/v1/audit', {
      query: { q: 'worker.register' },
    });
    const mine = rows.filter((row) => JSON.stringify(row).includes(worker.id));
    expect(mine).toEqual([expect.objectContaining({ action: 'worker.register', status: 'success' })]);
  });

  it('K-4: the agent follows the newest manifest that was registered', async () => {
    const newer = await world.worker(sdk, handle, { env: { PROBE_VERSION: '2.0.0' } });
    expect(await world.agent(handle)).toMatchObject({ version: '2.0.0' });
    await newer.kill();
  }, 40_000);

  it('K-20: what a run left is read from the record while no worker is there', async () => {
    const { run_id: runId } = await world.invoke(handle, { mode: 'tree' });
    await worker.kill();
    const run = await world.run(runId);
    expect(run).toMatchObject({ status: 'succeeded', output: { text: 'grown' } });
    expect(run.trace_events.length).toBeGreaterThan(0);
    expect(await collect(world.rest.runStream(runId))).not.toEqual([]);
  }, 30_000);
}

function invoke(sdk: Sdk): void {
  const handle = handleFor(sdk, 'invoke');
  let worker: WorkerProcess;
  beforeAll(async () => {
    worker = await world.worker(sdk, handle, { script: 'echo.py' });
  }, 40_000);

  it('K-16 K-26 D-17 D-25: the answer is what the handler returned for exactly the input that was sent', async () => {
    const input = {
      prompt: 'hello',
      list: [1, null, true, 2.5],
      words: { ü: '✓ 日本' },
      exact: Number.MAX_SAFE_INTEGER,
    };
    const { status, body } = await world.rest.invoke<InvokeAnswer>(handle, { input });
    expect(status).toBe(200);
    expect(body).toMatchObject({
      status: 'succeeded',
      output: { text: 'hello', seen: { input, has_snapshot: false } },
    });
    expect(body.error).toBeNull();
  });

  it('K-17 D-22 D-28: the record tells input, origin, worker and the time of each step', async () => {
    const input = { prompt: 'for the record' };
    const { run_id: runId } = await world.invoke(handle, input);
    const run = await world.run(runId);
    expect(run).toMatchObject({ status: 'succeeded', input, worker_id: worker.id, attempt: 1, error: null });
    expect(run).toMatchObject({ channel: 'api', transport: 'api_sync', origin: { kind: 'rest' } });
    const steps = [run.created_at, run.claimed_at, run.started_at, run.finished_at];
    expect(steps).toEqual([...steps].sort());
    expect(steps).not.toContain(null);
  });

  it('worker-protocol §23.1: an input that is absent, null or empty reaches the handler as an object, and the worker lives', async () => {
    for (const body of [{}, { input: null }, { input: {} }]) {
      const { body: answer } = await world.rest.invoke<InvokeAnswer>(handle, body);
      expect(answer).toMatchObject({ status: 'succeeded', output: { seen: { input: {} } } });
    }
    expect(worker.isRunning).toBe(true);
  });

  it('D-16: the agent shows who is busy while a run executes, and is free again afterwards', async () => {
    const slow = handleFor(sdk, 'busy');
    await world.worker(sdk, slow, { script: 'slow.py' });
    const { run_id: runId } = await world.createRun(slow, { seconds: 1.5 });
    await world.reached(runId, 'running', 12_000);
    expect(await world.agent(slow)).toMatchObject({
      instances_busy: 1,
      instances_free: 0,
      instances: [{ busy: true, current_run_id: runId, current_run_status: 'running' }],
    });
    await world.ended(runId);
    await eventually(async () =>
      expect(await world.agent(slow)).toMatchObject({ instances_busy: 0, instances_free: 1 }),
    );
  }, 60_000);
}

function streamedInvoke(sdk: Sdk): void {
  const handle = handleFor(sdk, 'streamed');
  const text = 'one two three four five six';
  const events: StreamEvent[] = [];
  let runId = '';
  beforeAll(() => world.worker(sdk, handle, { script: 'streaming.py' }), 40_000);

  it('K-18 D-16 K-52: the first words come while the run executes, and all words together are the final text', async () => {
    for await (const event of world.rest.invokeStream(handle, { input: { prompt: 'count' } })) {
      if (event.event === 'message.delta' && !events.some((earlier) => earlier.event === 'message.delta')) {
        runId = String(events.find((earlier) => earlier.event === 'run.status')?.data['run_id']);
        const run = await world.run(runId);
        expect(run.status).toBe('running');
        expect(text.startsWith(String(run.output?.['text']))).toBe(true);
      }
      events.push(event);
    }
    const first = events.find(({ event }) => event === 'message.delta');
    expect(Number(events.at(-1)?.at) - Number(first?.at)).toBeGreaterThan(500);
    expect(joinDeltas(events)).toBe(text);
    expect(events.find(({ event }) => event === 'message.completed')?.data).toEqual({ text });
  }, 30_000);

  it('K-17: the stream shows every state once, in order, and ends with the final run', () => {
    const states = events.filter(({ event }) => event === 'run.status').map(({ data }) => data['status']);
    expect(states).toEqual(['queued', 'claimed', 'running', 'succeeded']);
    expect(events.at(-1)).toMatchObject({
      event: 'done',
      data: { run_id: runId, status: 'succeeded', output: { text } },
    });
    const numbers = events.map(({ id }) => Number(id));
    expect(numbers).toEqual([...numbers].sort((left, right) => left - right));
  });

  it('F-36: a reader that comes back with the last id gets exactly what it has not seen', async () => {
    for (const cut of [0, 1, Math.floor(events.length / 2), events.length - 2]) {
      const rest = await collect(world.rest.runStream(runId, { lastEventId: String(events[cut]?.id) }));
      expect(rest.map(withoutTime)).toEqual(events.slice(cut + 1).map(withoutTime));
    }
  });

  it('F-37: two readers of a running run both get all of it', async () => {
    const { run_id: another } = await world.createRun(handle, { prompt: 'again' });
    const readers = [collect(world.rest.runStream(another)), collect(world.rest.runStream(another))];
    const [first = [], second = []] = await Promise.all(readers);
    expect(first.at(-1)?.event).toBe('done');
    expect(second.map(withoutTime)).toEqual(first.map(withoutTime));
    expect((await collect(world.rest.runStream(another, { follow: false }))).map(withoutTime)).toEqual(
      first.map(withoutTime),
    );
  }, 30_000);

  it('a caller who closes the stream does not end the run', async () => {
    const [status] = await collect(
      world.rest.invokeStream(handle, { input: {} }),
      ({ event }) => event === 'run.status',
    );
    const run = await world.ended(String(status?.data['run_id']));
    expect(run).toMatchObject({ status: 'succeeded', output: { text }, transport: 'api_sse' });
  }, 30_000);
}

function failure(sdk: Sdk): void {
  const handle = handleFor(sdk, 'failing');
  let worker: WorkerProcess;
  beforeAll(async () => {
    worker = await world.worker(sdk, handle);
  }, 40_000);

  it('D-18 K-21: a handler that raises fails the run with its own words and diagnostics', async () => {
    const answer = await world.invoke(handle, { mode: 'raise', prompt: 'upstream said no' });
    expect(answer).toMatchObject({ status: 'failed', error: 'ValueError: upstream said no', output: null });
    expect(await world.run(answer.run_id)).toMatchObject({
      status: 'failed',
      error: 'ValueError: upstream said no',
      diagnostics: { num_turns: 3, failure: { category: 'worker_runtime', retryable: false } },
    });
  });

  it('D-18: a handler that returns None has not succeeded', async () => {
    const answer = await world.invoke(handle, { mode: 'none' });
    expect(answer).toMatchObject({ status: 'failed', error: 'the run scope ended without an answer' });
  });

  it('K-21: a failed stream ends with the error and the failed run', async () => {
    const events = await collect(world.rest.invokeStream(handle, { input: { mode: 'raise', prompt: 'no' } }));
    expect(events.map(({ event }) => event)).toContain('error');
    expect(events.at(-1)).toMatchObject({ event: 'done', data: { status: 'failed', error: 'ValueError: no' } });
  });

  it('the worker goes on after its failures', async () => {
    expect(await world.invoke(handle, { prompt: 'still here' })).toMatchObject({ status: 'succeeded' });
    expect(worker.isRunning).toBe(true);
  });

  it('an input that the agent’s schema refuses never reaches the worker', async () => {
    const before = world.entries().length;
    const { status, body } = await world.rest.invoke(handle, { input: { mode: 7 } });
    expect(status).toBe(422);
    expect(body).toMatchObject({ code: 'input.invalid', detail: [{ loc: expect.arrayContaining(['body', 'input']) }] });
    expect(world.entries()).toHaveLength(before);
  });
}

function twoProcesses(sdk: Sdk): void {
  it('worker-protocol §23.8: 200 runs on two processes are each executed exactly once, as the workers themselves count', async () => {
    const handle = handleFor(sdk, 'pair');
    const workers = await Promise.all([world.worker(sdk, handle), world.worker(sdk, handle)]);
    const created: RunView[] = [];
    while (created.length < RUNS_OF_TWO_WORKERS) {
      const batch = Array.from({ length: 20 }, (_, index) =>
        world.createRun(handle, { prompt: `${created.length + index}` }),
      );
      created.push(...(await Promise.all(batch)));
    }
    const ids = created.map(({ run_id: runId }) => runId).sort();
    await eventually(async () => expect(await statusesOf(handle)).toEqual({ succeeded: RUNS_OF_TWO_WORKERS }), {
      within: 60_000,
    });
    const entries = world.entries().filter(({ runId }) => ids.includes(runId));
    expect(entries.map(({ runId }) => runId).sort()).toEqual(ids);
    expect(new Set(entries.map(({ pid }) => pid))).toEqual(new Set(workers.map(({ pid }) => pid)));
  }, 120_000);
}

async function statusesOf(handle: string): Promise<Record<string, number>> {
  const { agent_id: agentId } = await world.agent(handle);
  const runs = await world.rest.ask<RunView[]>('GET', '/api/v1/runs', { query: { agent_id: agentId, limit: 500 } });
  const counts: Record<string, number> = {};
  for (const { status } of runs) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

function withoutTime({ id, event, data }: StreamEvent): Omit<StreamEvent, 'at'> {
  return { id, event, data };
}
