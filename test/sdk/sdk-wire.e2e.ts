import { once } from 'node:events';
import http from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { collect, joinDeltas, type StreamEvent } from '../support/events.ts';
import { describeSdk, type Sdk } from '../support/python.ts';
import { eventually, present } from '../support/rest.ts';
import { endWorkers, type WorkerProcess } from '../support/worker-process.ts';
import type { RunDetail } from './views.ts';
import { WireTap, type Frame } from './wire-tap.ts';
import { handleFor, World } from './world.ts';

/** What the SDK accepts in an envelope; one more key and the frame is lost. */
const ENVELOPE = ['id', 'type', 'payload', 'needsReply', 'correlationId', 'stream', 'seq', 'end', 'headers'];
/** The SDK up to 0.3.15 gives up after 5 s. */
const PATIENCE_MS = 4_000;
/** The SDK's HTTP client drops an idle connection after 5 s, and Node closes one about a second later than it is told to. */
const IDLE_MS = 8_000;
const LINE_BREAKERS = /[\u2028\u2029\u0085]/;

let world: World;
beforeAll(async () => {
  world = await World.open();
}, 90_000);
afterAll(() => world.close(), 60_000);

await describeSdk('on the wire', (sdk) => {
  afterAll(endWorkers);
  describe('cancel', () => cancel(sdk));
  describe('a channel that breaks', () => brokenChannel(sdk));
  describe('what the SDK cannot take', () => fragile(sdk));
  describe('who a worker is', () => credentials(sdk));
  describe('a server that goes away', () => serverGone(sdk));
});

/** A worker behind a tap of its own. */
interface Tapped {
  readonly tap: WireTap;
  readonly worker: WorkerProcess;
}

async function tapped(
  sdk: Sdk,
  handle: string,
  env: (tap: WireTap) => Record<string, string> = () => ({}),
): Promise<Tapped> {
  const tap = await WireTap.before(world.server.url);
  const worker = await world.worker(sdk, handle, { url: tap.url, env: env(tap) });
  await eventually(() => {
    expect(tap.channels.some(({ status, closed }) => status === 200 && !closed)).toBe(true);
    expect(tap.sent('run_claim')).not.toEqual([]);
  });
  return { tap, worker };
}

function cancel(sdk: Sdk): void {
  const handle = handleFor(sdk, 'cancel');
  const reason = 'enough\u2028of\u2029this\u0085now';
  let tap: WireTap;
  let running: RunDetail;
  beforeAll(async () => {
    ({ tap } = await tapped(sdk, handle));
    const { run_id: runId } = await world.createRun(handle, { mode: 'sleep', seconds: 60 });
    running = await world.reached(runId, 'running', 12_000);
  }, 60_000);
  afterAll(() => tap.close());

  it('a run that is cancelled while it is queued is never executed', async () => {
    const { run_id: runId } = await world.createRun(handle, { prompt: 'never' });
    expect(await world.cancel(runId)).toMatchObject({ status: 'cancelled', claimed_at: null });
    await world.cancel(running.run_id, reason);
    expect(await world.invoke(handle, { prompt: 'after' })).toMatchObject({ status: 'succeeded' });
    expect(world.entries().map((entry) => entry.runId)).not.toContain(runId);
    expect(await world.run(runId)).toMatchObject({ status: 'cancelled', started_at: null });
  }, 30_000);

  it('worker-protocol §23.4: a running handler is interrupted, though the reason holds what would cut the frame', async () => {
    await eventually(() => expect(world.notes()).toContain(`interrupted ${running.run_id}`));
    expect(tap.pushed('cancel').map(({ payload }) => payload['run_id'])).toEqual([running.run_id]);
  });

  it('worker-protocol §23.11 K-17: the late report of a cancelled run is declined and changes nothing', async () => {
    const report = await eventually(() => present(tap.sent('run_failed')[0]));
    expect(report).toMatchObject({
      frame: { payload: { run_id: running.run_id, error: 'cancelled by the control plane' } },
      status: 200,
      answer: { type: 'run_state', payload: { run_id: running.run_id, accepted: false, status: 'cancelled' } },
    });
    const run = await world.run(running.run_id);
    expect(run).toMatchObject({ status: 'cancelled', output: null });
    expect(run.error ?? '').not.toContain('cancelled by the control plane');
    const [last] = (await collect(world.rest.runStream(running.run_id))).slice(-1);
    expect(last).toMatchObject({ event: 'done', data: { status: 'cancelled' } });
  });

  it('a cancel of a run that has ended answers it as it is', async () => {
    const { run_id: runId } = await world.invoke(handle, { prompt: 'done' });
    expect(await world.cancel(runId)).toMatchObject({ status: 'succeeded', output: { text: 'done' } });
  });
}

function brokenChannel(sdk: Sdk): void {
  const handle = handleFor(sdk, 'broken-channel');
  let tap: WireTap;
  beforeAll(async () => {
    ({ tap } = await tapped(sdk, handle));
  }, 60_000);
  afterAll(() => tap.close());

  it('a run that was queued while there was no channel is rung for on the next one', async () => {
    tap.refuseChannels(); // the worker has just claimed in vain: without a doorbell it asks again in 10 s
    const { run_id: runId } = await world.createRun(handle, { prompt: 'rung' });
    tap.admitChannels();
    expect(await world.ended(runId, 6_000)).toMatchObject({ status: 'succeeded' });
    expect(tap.pushed('work_available')).not.toEqual([]);
  }, 40_000);

  it('a cancel that found no channel is repeated on the next one', async () => {
    const { run_id: runId } = await world.createRun(handle, { mode: 'sleep', seconds: 60 });
    await world.reached(runId, 'running', 12_000);
    tap.refuseChannels();
    expect(await world.cancel(runId)).toMatchObject({ status: 'cancelled' });
    tap.admitChannels();
    await eventually(() => expect(world.notes()).toContain(`interrupted ${runId}`));
  }, 40_000);

  it('a run goes on to its end over a broken channel', async () => {
    const { run_id: runId } = await world.createRun(handle, { mode: 'ticks', count: 6 });
    await world.reached(runId, 'running', 12_000);
    tap.refuseChannels();
    expect(await world.ended(runId)).toMatchObject({
      status: 'succeeded',
      attempt: 1,
      output: { text: '0 1 2 3 4 5' },
    });
    tap.admitChannels();
  }, 40_000);
}

function fragile(sdk: Sdk): void {
  const handle = handleFor(sdk, 'fragile');
  const openedAt = performance.now();
  let tap: WireTap;
  let worker: WorkerProcess;
  let idle: Promise<IdleConnection>;
  beforeAll(async () => {
    idle = holdIdleConnection();
    ({ tap, worker } = await tapped(sdk, handle, (own) => ({ LLM_PROXY_BASE_URL: own.url })));
  }, 60_000);
  afterAll(() => tap.close());

  it.each([
    ['a lone surrogate', String.raw`{"prompt":"\ud800"}`],
    ['a lone surrogate in a key', String.raw`{"\udfff":1}`],
    ['nesting deeper than 150', `{"prompt":${'['.repeat(160)}${']'.repeat(160)}}`],
    ['an integer beyond 4,300 digits', `{"prompt":${'9'.repeat(4_301)}}`],
    ['an integer that would be rounded', '{"prompt":9007199254740993}'],
    ['a NUL', String.raw`{"prompt":"\u0000"}`],
  ])('worker-protocol §23.24: an input with %s is refused at the entry', async (_, input) => {
    const { status, body } = await world.createRawRun(handle, input);
    expect(status).toBe(422);
    expect(body).toMatchObject({ code: 'input.invalid', detail: [{ loc: expect.arrayContaining(['body']) }] });
  });

  it('worker-protocol §23.24: nesting of 140 and the largest exact integer reach the handler and come back', async () => {
    const members = [
      '"mode": "dump"',
      `"deep": ${'['.repeat(140)}${']'.repeat(140)}`,
      `"digits": ${Number.MAX_SAFE_INTEGER}`,
    ];
    const { status, body } = await world.createRawRun(handle, `{${[...members, '"__proto__": {"a": 1}'].join(', ')}}`);
    expect(status).toBe(200);
    const { output } = await world.ended(body.run_id);
    for (const member of [...members, '"__proto__": {"a": 1}']) expect(output?.['text']).toContain(member);
  }, 20_000);

  it('worker-protocol §23.16: a run id in the headers of a frame is tolerated', async () => {
    const { run_id: runId, status } = await world.invoke(handle, { prompt: 'stamped' });
    expect(status).toBe('succeeded');
    const stamped = () => tap.exchanges.some(({ headers }) => headers['x-run-id'] === runId);
    await eventually(() => expect(stamped()).toBe(sdk.version !== '0.3.0')); // the older SDK stamps nothing
  });

  it('worker-protocol §23.8: a busy worker is not rung for every run that waits for it', async () => {
    const { run_id: first } = await world.createRun(handle, { mode: 'sleep', seconds: 2 });
    await world.reached(first, 'running', 12_000);
    const bells = tap.pushed('work_available').length;
    const waiting = await Promise.all(Array.from({ length: 10 }, () => world.createRun(handle, { prompt: 'waiting' })));
    const claims = tap.sent('run_claim').length;
    for (const { run_id: runId } of waiting) await world.ended(runId);
    expect(tap.pushed('work_available').length - bells).toBeLessThan(waiting.length);
    await eventually(() => expect(tap.sent('run_claim').length - claims).toBeGreaterThan(waiting.length));
    expect(tap.sent('run_claim').length - claims).toBeLessThan(2 * waiting.length);
  }, 40_000);

  it('worker-protocol §23.1, §23.3 and §23.6: every request was answered in time, with what the SDK takes', () => {
    expect(tap.sent('register').map(({ answer }) => answer?.payload['status'])).toEqual(['online']);
    for (const { status, answer } of tap.sent('run_claim'))
      expect([status, answer?.type]).toEqual([200, 'run_assignment']);
    for (const { frame, answer } of tap.exchanges) expect(answer?.correlationId ?? frame.id).toBe(frame.id);
    expect(Math.max(...tap.exchanges.map(({ milliseconds }) => milliseconds))).toBeLessThan(PATIENCE_MS);
  });

  it('worker-protocol §23.4 and §23.5: no envelope held an unknown key, no event a line breaker, and the SDK dropped nothing', () => {
    const received = [...tap.pushed(), ...tap.exchanges.flatMap(({ answer }): Frame[] => (answer ? [answer] : []))];
    for (const frame of received) expect(ENVELOPE).toEqual(expect.arrayContaining(Object.keys(frame)));
    for (const { text } of tap.channels) {
      expect(text).not.toMatch(LINE_BREAKERS);
      for (const [line] of text.matchAll(/^event:.*$/gm)) expect(line).toBe('event: frame');
    }
    expect(worker.output()).not.toMatch(/dropping (unreadable )?frame/);
  });

  it('worker-protocol §23.17: no request was redirected, and no stream was compressed', () => {
    for (const { status } of tap.exchanges) expect([200, 202]).toContain(status);
    for (const { status, headers } of tap.channels) {
      expect([status, headers['content-type']?.split(';')[0]]).toEqual([200, 'text/event-stream']);
      expect(headers['content-encoding']).toBeUndefined();
    }
  });

  it('K-23: a ping goes down the channel every 5 s, and the worker’s pong is accepted', async () => {
    await eventually(() => expect(tap.pushed('ping').length).toBeGreaterThanOrEqual(2), { within: 15_000 });
    const elapsed = performance.now() - openedAt;
    expect(tap.pushed('ping').length).toBeLessThanOrEqual(Math.ceil(elapsed / 5_000) + 1);
    await eventually(() => expect(tap.sent('pong').length).toBeGreaterThanOrEqual(2));
    for (const { status } of tap.sent('pong')) expect(status).toBe(202);
  }, 30_000);

  it('worker-protocol §23.21: the server keeps an idle connection for longer than the SDK does', async () => {
    const { heldUntil, answers } = await idle;
    expect(heldUntil).toBeGreaterThan(IDLE_MS - 100);
    expect(answers).toEqual([200, 200]);
  }, 20_000);
}

function credentials(sdk: Sdk): void {
  const handle = handleFor(sdk, 'credentials');
  const victim = handleFor(sdk, 'victim');
  let tap: WireTap;
  let worker: WorkerProcess;
  beforeAll(async () => {
    ({ tap, worker } = await tapped(sdk, handle));
    await world.worker(sdk, victim);
  }, 60_000);
  afterAll(() => tap.close());

  it('K-61: a worker with a token that was never issued is refused and ends', async () => {
    const stranger = await world.launch(sdk, handle, { token: 'wrong' });
    expect(await stranger.ended).toBe(1);
  }, 20_000);

  it('K-8 worker-protocol §23.14: a manifest that names another existing agent is refused, and that agent is untouched', async () => {
    const before = await world.agent(victim);
    const impostor = await world.launch(sdk, handle, { agentId: victim, env: { PROBE_VERSION: '6.6.6' } });
    expect(await impostor.ended).toBe(1);
    const after = await world.agent(victim);
    expect(after).toMatchObject({
      version: before.version,
      instances: [{ worker_id: before.instances[0]?.worker_id }],
    });
    const rows = await world.rest.ask<unknown[]>('GET', '/api/v1/audit', {
      query: { q: 'worker.register', status: 'failure' },
    });
    expect(JSON.stringify(rows)).toContain(impostor.id);
  }, 30_000);

  it('K-59 K-60 worker-protocol §23.14: the token decides who the worker is, not the name that its author gave it', async () => {
    const named = handleFor(sdk, 'misnamed');
    await world.worker(sdk, named, { agentId: `author-s-name-${handle}` });
    expect(await world.invoke(named, { prompt: 'mine' })).toMatchObject({ status: 'succeeded' });
    const { status } = await world.rest.call('GET', `/api/v1/agents/author-s-name-${handle}`);
    expect(status).toBe(404);
  }, 40_000);

  it('K-13 K-14: rotation closes the open channel, ends the old token at once, and the new one works', async () => {
    const rotatedAt = performance.now();
    const token = await world.rotate(handle);
    const closed = await eventually(() => present(tap.channels.find(({ openedAt }) => openedAt < rotatedAt)?.closed), {
      within: 5_000,
    });
    expect(closed.by).toBe('server');
    expect(await worker.ended).toBe(1); // its next claim, at most 10 s later, is refused
    const late = tap.exchanges.filter(({ at }) => at > rotatedAt + 500);
    expect(late.map(({ status }) => status)).toEqual(late.map(() => 401));
    await world.worker(sdk, handle, { token });
    expect(await world.invoke(handle, { prompt: 'with the new one' })).toMatchObject({ status: 'succeeded' });
  }, 60_000);
}

function serverGone(sdk: Sdk): void {
  const handle = handleFor(sdk, 'survivor');
  let worker: WorkerProcess;
  beforeAll(async () => {
    worker = await world.worker(sdk, handle);
  }, 60_000);

  it('a run that executes while the server drains and comes back finishes, and its reader is told to come again', async () => {
    const { run_id: runId } = await world.createRun(handle, { mode: 'ticks', count: 16 });
    await world.reached(runId, 'running', 12_000);
    const reader = world.rest.runStream(runId);
    const first = await reader.next(); // it reads: a connection that nobody has accepted yet would just be gone
    const reading = collect(reader);
    await world.server.restart();
    const [moved, ...events] = [first.value as StreamEvent, ...(await reading)].reverse();
    expect(moved).toMatchObject({ event: 'moved', data: { done: false } });
    const rest = await collect(world.rest.runStream(runId, { lastEventId: String(moved?.data['seq']) }));
    expect(rest.at(-1)).toMatchObject({ event: 'done', data: { status: 'succeeded', attempt: 1 } });
    const whole = [...events.reverse(), ...rest];
    expect(joinDeltas(whole)).toBe(Array.from({ length: 16 }, (_, tick) => tick).join(' '));
    expect(whole.map(({ id }) => id)).toEqual((await collect(world.rest.runStream(runId))).map(({ id }) => id));
    expect(world.entries().filter((entry) => entry.runId === runId)).toHaveLength(1);
  }, 60_000);

  it('K-1: agent, worker and run survive a server that is killed', async () => {
    const { run_id: runId } = await world.createRun(handle, { mode: 'ticks', count: 16 });
    await world.reached(runId, 'running', 12_000);
    await world.server.kill('SIGKILL');
    await world.server.restart();
    expect(await world.ended(runId)).toMatchObject({ status: 'succeeded', attempt: 1, worker_id: worker.id });
    expect(worker.isRunning).toBe(true);
    expect(await world.agent(handle)).toMatchObject({ status: 'online' });
    expect(await world.invoke(handle, { prompt: 'as before' })).toMatchObject({ status: 'succeeded' });
  }, 60_000);

  it('worker-protocol §23.9: a worker that is asked to leave finishes its run first', async () => {
    const { run_id: runId } = await world.createRun(handle, { mode: 'sleep', seconds: 2 });
    await world.reached(runId, 'running', 12_000);
    expect(await worker.stop()).toBe(0);
    expect(await world.run(runId)).toMatchObject({ status: 'succeeded', output: { text: 'woke up' } });
  }, 40_000);
}

/** What became of a connection on which nothing was said for a while. */
interface IdleConnection {
  readonly heldUntil: number;
  readonly answers: readonly number[];
}

async function holdIdleConnection(): Promise<IdleConnection> {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  const ask = async (): Promise<number> => {
    const request = http.get(`${world.server.url}/healthz`, { agent });
    const [response] = (await once(request, 'response')) as [http.IncomingMessage];
    await response.resume().toArray();
    return response.statusCode ?? 0;
  };
  const first = await ask();
  const [socket] = Object.values(agent.freeSockets).flat();
  const startedAt = performance.now();
  const closed = socket ? once(socket, 'close') : sleep(0);
  await Promise.race([closed, sleep(IDLE_MS)]);
  const heldUntil = performance.now() - startedAt;
  const second = await ask();
  agent.destroy();
  return { heldUntil, answers: [first, second] };
}
