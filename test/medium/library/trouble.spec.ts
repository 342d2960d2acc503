import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { serveAgent, type Handler, type JsonObject, type WorkerOptions } from '../../../examples/worker/src/index.ts';
import { startApp, type Json, type RunningApp } from '../../support/app.ts';
import { WorkerProxy, type Fate } from '../../support/faults/worker-proxy.ts';
import { LibraryWorker, TENTH, type LibraryChoices } from '../../support/library.ts';
import { eventually } from '../../support/rest.ts';

let app: RunningApp;
let proxy: WorkerProxy;
let key: string;
const started: LibraryWorker[] = [];
beforeAll(async () => {
  app = await startApp({ env: { SIGNALBOX_FRAME_LIMIT_BYTES: '200000', SIGNALBOX_CHANNEL_PING_SECONDS: '0.5' } });
  proxy = await WorkerProxy.before(() => [app.url]);
  ({ key } = await app.account());
});
afterEach(async () => {
  proxy.fate = () => 'passes';
  await Promise.all(started.splice(0).map((worker) => worker.stop()));
});
afterAll(async () => {
  await proxy.close();
  await app.stop();
});

async function worker(onRun: Handler<JsonObject>, choices: LibraryChoices = {}): Promise<LibraryWorker> {
  const made = await LibraryWorker.start(app, key, onRun, { url: proxy.url, ...choices });
  started.push(made);
  return made;
}

/** Says so many numbered lines, some time apart. */
const counting: Handler<JsonObject> = async (run) => {
  for (let line = 1; line <= 20; line += 1) {
    await run.log('info', `line ${line}`);
    await pause(30);
  }
  return { text: 'counted' };
};
const LINES = Array.from({ length: 20 }, (_, index) => `line ${index + 1}`);

async function linesOf(teller: LibraryWorker, id: string): Promise<string[]> {
  return (await teller.events(id))
    .filter(({ event_type }) => event_type === 'log.created')
    .map(({ content }) => content);
}

describe('answers that get lost', () => {
  it.each<Fate>(['closed', 'never'])(
    'cost nothing when every third is %s: all lines once and in order, one end, nothing late',
    async (fate) => {
      const teller = await worker(counting, { timing: { answerWithin: 400 } });
      let answers = 0;
      proxy.fate = () => ((answers += 1) % 3 === 0 ? fate : 'passes');
      const id = await teller.order();
      const run = await teller.run(id, 'succeeded');
      proxy.fate = () => 'passes';
      expect(await linesOf(teller, id)).toEqual(LINES);
      expect(run.output).toEqual({ text: 'counted' });
      expect(await teller.get(`/api/v1/runs/${id}/late`)).toEqual([]);
      expect(proxy.swallowed).toBeGreaterThan(2);
    },
  );

  it('cost the channel nothing but a moment: a run is cancelled after it was dropped', async () => {
    const patient = await worker(async (run) => {
      await pause(15_000, undefined, { signal: run.signal });
      return {};
    });
    const id = await patient.order();
    await patient.run(id, 'running');
    const { channel } = await patient.see();
    app.nest.getHttpServer().closeAllConnections();
    await eventually(async () => {
      const seen = await patient.see();
      expect([seen.channel.opened_at === channel.opened_at, seen.lights.channel.state]).toEqual([false, 'ok']);
    });
    await patient.post(`/api/v1/runs/${id}/cancel`, {});
    await eventually(async () => expect((await patient.see()).slots.busy).toBe(0));
  });
});

describe('what is too large', () => {
  it('a batch is halved, an event leaves a note in its place, an answer becomes a failure that says so', async () => {
    const large = await worker(async (run) => {
      for (let line = 0; line < 10; line += 1) await run.log('info', `${line} ${'x'.repeat(50_000)}`);
      await run.log('info', 'y'.repeat(300_000));
      await run.log('info', 'after');
      return { text: 'z'.repeat(300_000) };
    });
    const id = await large.order();
    const run = await large.run(id, 'failed');
    expect(run.error).toMatch(/^the answer cannot be reported: run_completed was answered 413/);
    const events: Json[] = await large.events(id);
    expect(events.map((event) => event.event_sequence)).toEqual(Array.from({ length: 12 }, (_, index) => index + 1));
    expect(events[10].content).toMatch(/^3\d{5} bytes were too large to be sent$/);
    expect(events[11].content).toBe('after');
  });
});

describe('a token', () => {
  it('that is revoked ends the worker with the reason, and its handlers with it', async () => {
    let reason: unknown;
    const doomed = await worker(async (run) => {
      await pause(15_000, undefined, { signal: run.signal }).catch(() => (reason = run.signal.reason));
      return {};
    });
    await doomed.run(await doomed.order(), 'running');
    await doomed.post('/api/v1/agents/worker-token', { agentId: doomed.handle }); // the one before is dead
    await expect(doomed.served).rejects.toThrow(/was answered 401, auth\.(revoked|invalid): .*worker-token/);
    expect(String(reason)).toContain('401');
  });

  it('of which nobody knows, or that is none, is said at once', async () => {
    const start = (choices: Partial<WorkerOptions>): Promise<void> =>
      serveAgent({
        url: app.url,
        token: 'wt_nobody',
        agent: { id: 'x' },
        onRun: async () => ({}),
        timing: TENTH,
        log: () => undefined,
        ...choices,
      });
    await expect(start({})).rejects.toThrow(/^register was answered 401, auth\.invalid: /);
    await expect(start({ token: ' \n' })).rejects.toThrow(/^no worker token: set AGENTOPS_WORKER_TOKEN/);
    await expect(start({ token: 'a b' })).rejects.toThrow('holds characters that no token has');
    await expect(start({ token: key })).rejects.toThrow(/^register was answered 403, access\.denied: /);
    await expect(start({ url: 'nowhere' })).rejects.toThrow('nowhere is no address of a control plane');
    await expect(start({ maxConcurrent: 0 })).rejects.toThrow('a whole number from 1 to 100');
  });

  it('does not work for another agent’s handle', async () => {
    const first = await worker(async () => ({}));
    const { token } = await first.post('/api/v1/agents/worker-token', { agentId: `${first.handle}-other` });
    const other = serveAgent({
      url: app.url,
      token,
      agent: { id: first.handle },
      onRun: async () => ({}),
      log: () => undefined,
    });
    await expect(other).rejects.toThrow(/^register was answered 403, worker\.wrong_agent: /);
  });
});

describe('an address', () => {
  it('where something else serves is given up after three tries, one that points elsewhere at once', async () => {
    const stranger = http.createServer((request, response) => {
      const isMoved = request.url?.startsWith('/old/');
      response.writeHead(isMoved ? 301 : 404, isMoved ? { location: 'https://new.test/' } : {}).end('<h1>Sorry</h1>');
    });
    await once(stranger.listen(0, '127.0.0.1'), 'listening');
    const url = `http://127.0.0.1:${(stranger.address() as AddressInfo).port}`;
    const lines: string[] = [];
    const start = (at: string): Promise<void> =>
      serveAgent({
        url: at,
        token: 'wt_x',
        agent: { id: 'x' },
        onRun: async () => ({}),
        timing: TENTH,
        log: (line) => lines.push(line),
      });
    try {
      await expect(start(url)).rejects.toThrow(`is ${url} the address of a Signalbox control plane?`);
      expect(lines.filter((line) => line.startsWith('not registered'))).toHaveLength(2);
      await expect(start(`${url}/old`)).rejects.toThrow('it points to https://new.test/; use that address');
    } finally {
      stranger.close();
    }
  });
});
