import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DatabaseProxy } from '../support/database-proxy.ts';
import { collect } from '../support/events.ts';
import { FRAGILE_VERSIONS, describeSdk, type Sdk } from '../support/python.ts';
import { eventually, present } from '../support/rest.ts';
import { startServer, type RunningServer } from '../support/server.ts';
import { endWorkers, type WorkerProcess } from '../support/worker-process.ts';
import { WireTap } from './wire-tap.ts';
import { handleFor, World } from './world.ts';

const CLAIMS_PER_SECOND = 2;
/** Every claim is answered within it. */
const CLAIM_LIMIT_MS = 2_000;
/** This SDK gives up after 5 s. */
const PATIENCE_MS = 4_500;
/** What an idle worker waits between its claims when no doorbell rings. */
const POLL_MS = 10_000;
/** How long each failure lasts: an idle worker asks once in it, and this SDK, left to itself, some 6,000 times more. */
const FAILURE_MS = POLL_MS + 3_000;

let world: World;
const taps: WireTap[] = [];
beforeAll(async () => {
  world = await World.open();
}, 90_000);
afterAll(async () => {
  for (const tap of taps) tap.close();
  await world.close();
}, 60_000);

await describeSdk(
  'the first frames',
  (sdk) => {
    afterAll(endWorkers);
    describe('one run', () => oneRun(sdk));
    describe('no hot loop', () => noHotLoop(sdk));
  },
  FRAGILE_VERSIONS,
);

interface Tapped {
  readonly tap: WireTap;
  readonly worker: WorkerProcess;
}

async function tapped(sdk: Sdk, handle: string, server: RunningServer = world.server): Promise<Tapped> {
  const tap = await WireTap.before(server.url);
  taps.push(tap);
  const worker = await world.worker(sdk, handle, { url: tap.url, env: { PROBE_BEAT_SECONDS: '1' } });
  await eventually(() => expect(tap.sent('run_claim')).not.toEqual([]), { within: 20_000 });
  return { tap, worker };
}

function oneRun(sdk: Sdk): void {
  const handle = handleFor(sdk, 'fragile');
  let tap: WireTap;
  let worker: WorkerProcess;
  beforeAll(async () => {
    ({ tap, worker } = await tapped(sdk, handle));
  }, 90_000);

  it('K-1 §21: registers, is told apart by its manifest, and is online', async () => {
    expect(await world.rest.ask('GET', `/api/v1/workers/${worker.id}`)).toMatchObject({
      state: 'online',
      dialect: '0.2',
    });
    expect(tap.sent('register').map(({ answer }) => answer?.payload['status'])).toEqual(['online']);
  });

  it('§4: hears its doorbell, which says `event: frame`, and runs to the end with its evidence', async () => {
    const began = performance.now();
    const { run_id: runId } = await world.createRun(handle, { mode: 'ticks', count: 5 });
    await world.reached(runId, new Set(['running', 'succeeded']), POLL_MS - 2_000);
    expect(performance.now() - began).toBeLessThan(POLL_MS - 2_000);
    const run = await world.ended(runId);
    expect(run).toMatchObject({ status: 'succeeded', attempt: 1, output: { text: '0 1 2 3 4' }, worker_id: worker.id });
    expect(run.messages.map(({ content }) => content)).toContain('tick 4');
    expect(world.entries().filter((entry) => entry.runId === runId)).toHaveLength(1);
    for (const { text } of tap.channels)
      for (const [line] of text.matchAll(/^event:.*$/gm)) expect(line).toBe('event: frame');
  }, 30_000);

  it('D-18: fails in its own words', async () => {
    const answer = await world.invoke(handle, { mode: 'raise', prompt: 'upstream said no' });
    expect(answer).toMatchObject({ status: 'failed', output: null });
    expect(answer.error).toContain('upstream said no');
  }, 20_000);

  it('§21 K-23: says during a run that it lives, is answered with its state, is pinged, and is interrupted by a cancel', async () => {
    const { run_id: runId } = await world.createRun(handle, { mode: 'sleep', seconds: 60 });
    await world.reached(runId, 'running', 12_000);
    const beat = await eventually(() => present(tap.sent('heartbeat')[0]), { within: 15_000 });
    expect(beat).toMatchObject({ status: 200, answer: { type: 'worker_state', payload: { status: 'online' } } });
    await world.cancel(runId, 'enough\u2028of\u2029this\u0085now');
    await eventually(() => expect(world.notes()).toContain(`interrupted ${runId}`));
    const report = await eventually(() =>
      present(tap.sent('run_failed').find(({ frame }) => frame.payload['run_id'] === runId)),
    );
    expect(report).toMatchObject({ status: 200, answer: { payload: { accepted: false, status: 'cancelled' } } });
    const [last] = (await collect(world.rest.runStream(runId))).slice(-1);
    expect(last).toMatchObject({ event: 'done', data: { status: 'cancelled' } });
    expect(tap.pushed('ping').length).toBeGreaterThan(1);
    for (const { status } of tap.sent('pong')) expect(status).toBe(202);
    expect(tap.sent('pong')).not.toEqual([]);
  }, 50_000);

  it('worker-protocol §23.1 and §23.3: every claim was answered 200 within two seconds, and the SDK dropped nothing', async () => {
    expect(await world.invoke(handle, { prompt: 'still here' })).toMatchObject({ status: 'succeeded' });
    for (const { status, answer, milliseconds } of tap.sent('run_claim')) {
      expect([status, answer?.type]).toEqual([200, 'run_assignment']);
      expect(milliseconds).toBeLessThan(CLAIM_LIMIT_MS);
    }
    expect(worker.output()).not.toMatch(/dropping (unreadable )?frame|malformed/);
    expect(worker.isRunning).toBe(true);
  }, 20_000);
}

/** What is wrong in one of the failures, and how it ends. */
interface Failing extends Tapped {
  readonly since: number;
  readonly until: number;
}

/** All failures at once, each with a worker and a tap of its own, and its own replica where it breaks one. */
function noHotLoop(sdk: Sdk): void {
  const names = ['away', 'silent', 'draining', 'dead', 'forgotten'] as const;
  const handles = Object.fromEntries(names.map((name) => [name, handleFor(sdk, name)])) as Record<string, string>;
  const failing = new Map<string, Failing>();
  const workers = new Map<string, Tapped>();
  const replicas: RunningServer[] = [];
  let proxies: Record<'away' | 'silent', DatabaseProxy>;
  let leaving: RunningServer;
  let interrupted: string;

  const replica = async (env: Readonly<Record<string, string>> = {}): Promise<RunningServer> => {
    const server = await startServer({ database: world.server.databaseUrl, env });
    replicas.push(server);
    return server;
  };
  const during = async (name: string, milliseconds: number): Promise<void> => {
    const since = performance.now();
    await sleep(milliseconds);
    failing.set(name, { ...present(workers.get(name)), since, until: performance.now() });
  };
  const claimsOf = (name: string) => {
    const { tap, since, until } = present(failing.get(name));
    return tap.sent('run_claim').filter(({ at }) => at > since && at <= until);
  };
  /** An idle worker waits for a doorbell: its first claim after the failure began is brought about. */
  const wake = (name: string) => world.createRun(present(handles[name]), { prompt: 'waits' });

  beforeAll(async () => {
    const opened = await Promise.all([
      DatabaseProxy.before(world.server.databaseUrl),
      DatabaseProxy.before(world.server.databaseUrl),
    ]);
    proxies = { away: opened[0].proxy, silent: opened[1].proxy };
    const [away, silent, draining] = await Promise.all([
      replica({ DATABASE_URL: opened[0].url }),
      replica({ DATABASE_URL: opened[1].url }),
      replica(),
    ]);
    const servers: Record<string, RunningServer> = { away, silent, draining };
    leaving = draining;
    await Promise.all(
      names.map(async (name) => workers.set(name, await tapped(sdk, present(handles[name]), servers[name]))),
    );
    const { run_id: runId } = await world.createRun(present(handles['draining']), { mode: 'ticks', count: 4 });
    interrupted = runId;
    await world.reached(runId, 'running', 12_000);
  }, 120_000);
  afterAll(async () => {
    proxies.silent.thaw();
    await endWorkers();
    await Promise.all(replicas.map((server) => server.stop()));
    await Promise.all(Object.values(proxies).map((proxy) => proxy.close()));
  }, 60_000);

  it('F-28 worker-protocol §23.2: database away, database silent, replica draining, token dead, worker forgotten: two claims a second at most', async () => {
    proxies.away.cut();
    proxies.silent.freeze();
    const gone = leaving.kill('SIGTERM');
    await world.rotate(present(handles['dead']));
    await world.server.query('DELETE FROM worker WHERE id = $1', [present(workers.get('forgotten')).worker.id]);
    await Promise.all([wake('away'), wake('silent'), wake('forgotten')]);
    await Promise.all([
      during('away', FAILURE_MS),
      during('silent', FAILURE_MS),
      during('dead', FAILURE_MS),
      during('forgotten', FAILURE_MS),
      gone.then(() => during('draining', 0)),
    ]);
    for (const name of names) {
      const { since, until, worker } = present(failing.get(name));
      const allowed = 1 + CLAIMS_PER_SECOND * ((until - since) / 1_000);
      expect([name, claimsOf(name).length <= allowed]).toEqual([name, true]);
      if (name !== 'forgotten') expect([name, worker.isRunning]).toEqual([name, true]);
    }
  }, 60_000);

  it('A6: while the database is away or silent, claims are answered 200 with nothing, within two seconds', () => {
    for (const name of ['away', 'silent']) {
      expect(claimsOf(name)).not.toEqual([]);
      for (const { status, answer, milliseconds } of claimsOf(name)) {
        expect([name, status, answer?.type, answer?.payload]).toEqual([name, 200, 'run_assignment', {}]);
        expect(milliseconds).toBeLessThan(CLAIM_LIMIT_MS + 1_500); // the tap and a busy machine have their share
      }
    }
  });

  it('worker-protocol §23.2: a dead token and a forgotten worker hear so before the SDK gives up, and not at once', async () => {
    for (const [name, status] of [
      ['dead', 401],
      ['forgotten', 404],
    ] as const) {
      const refused = await eventually(() => present(claimOf(name, status)), { within: POLL_MS });
      expect(refused.milliseconds).toBeGreaterThan(3_000);
      expect(refused.milliseconds).toBeLessThan(PATIENCE_MS);
    }
  }, 20_000);

  it('§5: a forgotten worker ends, so that its supervisor starts it and it registers again', async () => {
    expect(await present(workers.get('forgotten')).worker.ended).toBe(1);
  }, 30_000);

  it('F-28: every worker that lived through it takes its run and ends it well', async () => {
    proxies.away.mend();
    proxies.silent.thaw();
    await leaving.restart();
    for (const name of ['away', 'silent'] as const) {
      const runs = await world.rest.ask<{ run_id: string }[]>('GET', '/api/v1/runs', {
        query: { agent_id: (await world.agent(present(handles[name]))).agent_id },
      });
      expect(runs).toHaveLength(1);
      expect(await world.ended(present(runs[0]).run_id, 30_000)).toMatchObject({ status: 'succeeded', attempt: 1 });
    }
    expect((await world.ended(interrupted, 30_000)).attempt).toBe(1);
    const { run_id: runId } = await world.createRun(present(handles['draining']), { prompt: 'after' });
    expect(await world.ended(runId, 30_000)).toMatchObject({ status: 'succeeded' });
  }, 90_000);

  const claimOf = (name: string, status: number) =>
    present(workers.get(name))
      .tap.sent('run_claim')
      .find((claim) => claim.status === status);
}
