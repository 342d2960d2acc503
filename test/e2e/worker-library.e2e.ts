import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import net from 'node:net';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { call, type Json } from '../support/app.ts';
import { LibraryWorker } from '../support/library.ts';
import { RestClient, eventually } from '../support/rest.ts';
import { startServer, type RunningServer } from '../support/server.ts';

jest.setTimeout(60_000); // starts and restarts on a busy machine

const HELLO = path.resolve(import.meta.dirname, '../../dist/examples/agents/hello.js');

/** Some seconds of words, so that runs are still under way when somebody looks. */
const LONG = 'and you '.repeat(20);

let server: RunningServer;
const programs: ChildProcess[] = [];
const started: LibraryWorker[] = [];
beforeAll(async () => {
  server = await startServer({ env: { SIGNALBOX_CHANNEL_PING_SECONDS: '0.5' } });
});
afterEach(async () => {
  for (const program of programs.splice(0)) program.kill('SIGKILL');
  await Promise.all(started.splice(0).map((worker) => worker.stop()));
});
afterAll(() => server.stop());

const rest = (): RestClient => new RestClient(server.url, server.key);
const place = {
  get url() {
    return server.url;
  },
  call: (...asked: Parameters<typeof call> extends [string, ...infer Rest] ? Rest : never) =>
    call(server.url, ...asked),
};

async function token(handle: string): Promise<string> {
  return (await rest().ask<{ token: string }>('POST', '/api/v1/agents/worker-token', { body: { agentId: handle } }))
    .token;
}

/** Starts the agent that README.md shows; `said` is what it prints. */
function hello(env: Record<string, string>): {
  readonly program: ChildProcess;
  readonly said: () => string;
  readonly ended: Promise<unknown[]>;
} {
  const program = spawn(process.execPath, [HELLO], {
    env: { PATH: process.env['PATH'], ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  programs.push(program);
  let said = '';
  for (const stream of [program.stdout, program.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (said += text));
  return { program, said: () => said, ended: once(program, 'close') };
}

async function online(handle: string): Promise<void> {
  await eventually(async () => {
    const { status, body } = await rest().call<Json>('GET', `/api/v1/agents/${handle}`);
    expect([status, body.status]).toEqual([200, 'online']);
  });
}

describe('the agent that README.md shows', () => {
  it('streams its answer word by word, and leaves a tool call on the record', async () => {
    hello({ AGENTOPS_URL: server.url, AGENTOPS_WORKER_TOKEN: await token('hello') });
    await online('hello');
    const deltas: string[] = [];
    let done: Json;
    for await (const { event, data } of rest().invokeStream('hello', { input: { name: 'Ada' } })) {
      if (event === 'message.delta') deltas.push((data as Json).delta);
      if (event === 'done') done = data;
    }
    expect(done).toMatchObject({
      status: 'succeeded',
      output: { text: expect.stringMatching(/^Hello, Ada! It is 20.*Z\.$/) },
    });
    expect(deltas.length).toBeGreaterThan(1); // what is said within one batch comes together
    expect(deltas.join('')).toBe(done.output.text);
    const spans = await rest().ask<Json>('GET', `/api/v1/runs/${done.run_id}/spans`);
    expect(spans).toMatchObject([{ name: 'clock', kind: 'tool', status: 'ok' }]);
  });

  it('is drained by kill -TERM: what it holds is finished, it takes nothing more, and it ends with 0', async () => {
    const { program, ended, said } = hello({ AGENTOPS_URL: server.url, AGENTOPS_WORKER_TOKEN: await token('hello') });
    await online('hello');
    const order = (): Promise<Json> =>
      rest().ask<Json>('POST', '/api/v1/runs', { body: { agent_id: 'hello', input: { name: LONG } } });
    const held: Json[] = await Promise.all([order(), order(), order()]);
    const run = (id: string): Promise<Json> => rest().ask<Json>('GET', `/api/v1/runs/${id}`);
    await eventually(async () =>
      expect((await Promise.all(held.map(({ run_id }) => run(run_id)))).map(({ status }) => status)).toEqual([
        'running',
        'running',
        'running',
      ]),
    );
    program.kill('SIGTERM');
    await eventually(async () => {
      const workers = await rest().ask<Json>('GET', '/api/v1/workers?agent_id=hello&state=online');
      expect(workers.map(({ mode }: Json) => mode)).toContain('draining'); // one that was killed may still be on the list
    });
    const late = await order();
    expect(await ended).toEqual([0, null]);
    const ends = await Promise.all(held.map(({ run_id }) => run(run_id)));
    expect(ends.map(({ status, attempt }) => [status, attempt])).toEqual(held.map(() => ['succeeded', 1]));
    expect((await run(late.run_id)).status).toBe('queued');
    expect(said()).toBe('');
    await rest().ask('POST', `/api/v1/runs/${late.run_id}/cancel`, { body: {} });
  });

  it('waits for a control plane that is not there yet, and says in one line what is wrong with a token', async () => {
    const free = net.createServer().listen(0, '127.0.0.1');
    await once(free, 'listening');
    const { port } = free.address() as net.AddressInfo;
    free.close();
    const early = hello({ AGENTOPS_URL: `http://127.0.0.1:${port}`, AGENTOPS_WORKER_TOKEN: await token('hello') });
    await eventually(() =>
      expect(early.said()).toMatch(
        /not registered: http:\S+ cannot be reached \(ECONNREFUSED 127\.0\.0\.1:\d+\); trying again/,
      ),
    );
    const door = net.createServer((client) => {
      const behind = net.connect(Number(new URL(server.url).port), '127.0.0.1');
      client
        .on('error', () => undefined)
        .pipe(behind.on('error', () => undefined))
        .pipe(client);
    });
    door.listen(port, '127.0.0.1');
    await online('hello');
    const nobody = hello({ AGENTOPS_URL: server.url, AGENTOPS_WORKER_TOKEN: 'wt_nobody' });
    expect(await nobody.ended).toEqual([1, null]);
    expect(nobody.said()).toMatch(
      /^worker: register was answered 401, auth\.invalid: [^\n]*mint one with POST \/api\/v1\/agents\/worker-token\n$/,
    );
    const none = hello({ AGENTOPS_URL: server.url });
    expect(await none.ended).toEqual([1, null]);
    expect(none.said()).toMatch(/^worker: no worker token: set AGENTOPS_WORKER_TOKEN[^\n]*\n$/);
    early.program.kill('SIGTERM');
    expect(await early.ended).toEqual([0, null]);
    door.close();
  });
});

describe('a server that is restarted under a run', () => {
  it.each(['SIGTERM', 'SIGKILL'] as const)('with %s loses no event, and hears of the end once', async (signal) => {
    const worker = await LibraryWorker.start(place, server.key, async (run) => {
      for (let line = 1; line <= 60; line += 1) {
        await run.log('info', `line ${line}`);
        await pause(50);
      }
      return { text: 'done' };
    });
    started.push(worker);
    const id = await worker.order();
    await worker.run(id, 'running');
    await pause(500);
    await server.kill(signal);
    await pause(1_000); // lines are said while nobody is there
    await server.restart();
    const run = await worker.run(id, 'succeeded');
    const lines = (await worker.events(id))
      .filter(({ event_type }) => event_type === 'log.created')
      .map(({ content }) => content);
    expect(lines).toEqual(Array.from({ length: 60 }, (_, index) => `line ${index + 1}`));
    expect([run.attempt, run.output, await worker.get(`/api/v1/runs/${id}/late`)]).toEqual([1, { text: 'done' }, []]);
    await worker.run(await worker.order(), 'succeeded'); // it goes on
  });
});
