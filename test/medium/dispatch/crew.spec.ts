import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { startApp, type RunningApp } from '../../support/app.ts';
import { readEvents, type StreamEvent } from '../../support/events.ts';
import { pause, startStub, type StubWorker } from '../../support/stub-worker.ts';

let app: RunningApp;
let key: string;

beforeAll(async () => {
  app = await startApp({ env: { SIGNALBOX_SWEEP_SECONDS: '0.2', SIGNALBOX_CLOSED_LOST_SECONDS: '1' } });
  ({ key } = await app.account());
});
afterAll(() => app.stop());

const queue = async (agent_id: string): Promise<string> =>
  (await app.call('POST', '/api/v1/runs', { key, body: { agent_id } })).json.run_id;
const get = async (runId: string) => (await app.call('GET', `/api/v1/runs/${runId}`, { key })).json;
async function ended(runIds: readonly string[], within = 18_000) {
  for (const end = Date.now() + within; Date.now() < end; await pause(50)) {
    const runs = await Promise.all(runIds.map(get));
    if (runs.every(({ finished_at }) => finished_at !== null)) return runs;
  }
  throw new Error('some runs never ended');
}

/** Serves whatever its doorbells announce, one run at a time, until it is told to stop. Answers what it was given. */
function serve(worker: StubWorker, each: (runId: string) => Promise<'dies' | undefined>) {
  const taken: string[] = [];
  let stopped = false;
  const serving = (async () => {
    while (!stopped) {
      const bell = await worker.hears('work_available', 200).catch(() => undefined);
      for (let job = bell && (await worker.claim()); job; job = await worker.claim()) {
        taken.push(job.run_id);
        if ((await each(job.run_id)) === 'dies') return;
      }
    }
  })();
  return { taken, stop: async () => void ((stopped = true), await serving) };
}

it('U-17: of two processes with one worker id the newest owns the channel, and ten runs are ten executions', async () => {
  const first = await startStub(app, key, { handle: 'twins' });
  const twin = await startStub(app, key, { handle: 'twins', token: first.token, workerId: first.id });
  await first.open();
  await pause(100);
  await twin.open();
  await pause(200);
  const answer = (worker: StubWorker) => async (runId: string) => {
    await worker.start(runId);
    await worker.complete(runId, {});
    return undefined;
  };
  const crew = [serve(first, answer(first)), serve(twin, answer(twin))];
  const runs: string[] = [];
  for (let index = 0; index < 10; index += 1) {
    runs.push(await queue('twins'));
    await ended(runs);
  }
  await Promise.all(crew.map(({ stop }) => stop()));
  expect(crew.map(({ taken }) => taken.length)).toEqual([0, 10]);
  expect(crew[1]?.taken).toEqual(runs);
});

it('U-18: two workers of one agent share the load; losing one loses only the run that it had', async () => {
  const workers = [await startStub(app, key, { handle: 'pair' })];
  workers.push(await startStub(app, key, { handle: 'pair', token: workers[0]?.token ?? '' }));
  const started = Promise.withResolvers<string>();
  const [crewOfFirst, crewOfSecond] = await Promise.all(
    workers.map(async (worker, index) => {
      await worker.open();
      return serve(worker, async (runId) => {
        await worker.start(runId);
        if (index === 0) {
          started.resolve(runId);
          worker.close(); // it dies in the middle of this one
          return 'dies';
        }
        await pause(20);
        await worker.complete(runId, {});
        return undefined;
      });
    }),
  );
  await pause(200);
  const runs = await Promise.all(Array.from({ length: 20 }, () => queue('pair')));
  const lost = await started.promise;
  await crewOfFirst?.stop();
  const all = await ended(runs);
  await crewOfSecond?.stop();
  expect([crewOfFirst?.taken.length, crewOfSecond?.taken.length]).toEqual([1, 19]); // each run went to one of them
  expect(all.filter(({ status }) => status !== 'succeeded').map(({ run_id, error }) => [run_id, error])).toEqual([
    [lost, expect.stringMatching(/^worker_lost:/)],
  ]);
});

it('F-38: what was accepted before the end is delivered before the end, the large thing too', async () => {
  const worker = await startStub(app, key, { handle: 'order' });
  const runId = await queue('order');
  await worker.claimSoon();
  await worker.start(runId);
  const stream = await fetch(`${app.url}/api/v1/runs/${runId}/stream`, { headers: { authorization: `Bearer ${key}` } });
  const heard: StreamEvent[] = [];
  const reading = (async () => {
    for await (const event of readEvents(stream.body ?? new ReadableStream())) heard.push(event);
  })();
  await worker.send(runId, [
    { event_type: 'span.started', span_id: 's', kind: 'tool', name: 'big' },
    { event_type: 'span.ended', span_id: 's', kind: 'tool', name: 'big', payload: { result: 'x'.repeat(300_000) } },
    { event_type: 'message.created', role: 'assistant', content: 'last words' },
  ]);
  await worker.complete(runId, { text: 'done' });
  await reading;
  const names = heard.map(({ event }) => event);
  expect(names.at(-1)).toBe('done');
  const before = names.slice(0, names.indexOf('run.completed') >= 0 ? names.indexOf('run.completed') : -1);
  expect(heard.slice(0, before.length).filter(({ data }) => JSON.stringify(data).includes('last words'))).not.toEqual(
    [],
  );
  const artifacts = (await app.call('GET', `/api/v1/runs/${runId}/artifacts`, { key })).json;
  expect(artifacts).toHaveLength(1);
});

it('K-21, N-16: the worker’s own error stays its own; what the platform says of an end is told apart', async () => {
  const worker = await startStub(app, key, { handle: 'errors' });
  const [own, ours] = [await queue('errors'), await queue('errors')];
  await worker.claimSoon();
  await worker.start(own);
  await worker.fail(own, 'unreachable: my own database');
  await worker.open();
  await worker.claimSoon();
  await worker.start(ours);
  await pause(100);
  worker.close();
  await ended([ours]);
  const explain = async (runId: string) =>
    (await app.call('GET', `/api/v1/runs/${runId}/explain`, { key })).json.reason;
  expect((await get(own)).error).toBe('unreachable: my own database');
  expect(await explain(own)).toMatchObject({ code: 'end.failed' });
  expect(await explain(ours)).toMatchObject({ code: 'end.worker_lost' });
});
