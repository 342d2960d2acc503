import { once } from 'node:events';
import http from 'node:http';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { startApp, type RunningApp } from '../../support/app.ts';
import { eventually } from '../../support/rest.ts';
import { pause } from '../../support/stub-worker.ts';
import { Ear, type EarOptions } from './ear.ts';
import { Scene, log } from './scene.ts';

let a: Scene;
let b: RunningApp;
const ears: Ear[] = [];
beforeAll(async () => {
  a = await Scene.open();
  b = await startApp({ database: a.app.database });
  await pause(1_500); // each has seen the other's row
});
afterEach(() => {
  for (const ear of ears.splice(0)) ear.stop();
});
afterAll(async () => {
  await b.stop();
  await a.close();
});

async function listening(base: string, topics: string, options: Partial<EarOptions> = {}): Promise<Ear> {
  const ear = new Ear(base, topics, { key: a.key, ...options });
  ears.push(ear);
  if (options.lastEventId === undefined) for (const topic of topics.split(',')) await ear.hears({ data: { topic } });
  return ear;
}

describe('a stream of an account on another replica than the one where things happen', () => {
  it('hears at once what is poked for', async () => {
    const worker = await a.worker();
    const ear = await listening(b.url, 'runs,workers');
    const before = performance.now();
    const runId = await a.queue(worker);
    await ear.hears({ event: 'runs', data: { id: runId, view: { status: 'queued' } } });
    const job = await worker.claimSoon();
    await worker.start(job.run_id);
    await worker.complete(runId, { text: 'done' });
    await ear.hears({ event: 'runs', data: { id: runId, view: { status: 'succeeded' } } });
    expect(performance.now() - before).toBeLessThan(4_500); // the look that comes anyway comes each five seconds
  });

  it('U-21: goes on there where it was cut here, again and again', async () => {
    const worker = await a.worker();
    const runId = await a.running(worker);
    const topic = `run:${runId}`;
    const heard: Ear[] = [await listening(a.app.url, `runs,${topic}`)];
    for (let cut = 0; cut < 6; cut += 1) {
      await worker.send(runId, [log(`line ${cut}`)]);
      const last = heard.at(-1);
      await last?.hears({ data: { topic, view: { content: `line ${cut}` } } });
      last?.stop();
      await worker.send(runId, [log(`unheard ${cut}`)]);
      heard.push(await listening([b.url, a.app.url][cut % 2] ?? b.url, `runs,${topic}`, { lastEventId: last?.lastId }));
      await heard.at(-1)?.hears({ data: { topic, view: { content: `unheard ${cut}` } } });
    }
    const pieces = heard.flatMap((ear) => ear.of(topic)).filter(({ data }) => data.kind === 'appended');
    expect(pieces.map(({ data }) => data.view.content)).toEqual(
      Array.from({ length: 6 }, (_, cut) => [`line ${cut}`, `unheard ${cut}`]).flat(),
    );
    expect(
      heard
        .slice(1)
        .flatMap((ear) => ear.heard)
        .filter(({ data }) => data.kind === 'reset'),
    ).toEqual([]);
  });

  it('hears what nobody poked for, a little later', async () => {
    const worker = await a.worker();
    const runId = await a.queue(worker);
    const ear = await listening(b.url, 'runs');
    await a.app.database.query(
      `UPDATE run SET status = 'cancelled', finished_at = now(), end_code = 'end.cancelled' WHERE id = $1`,
      [runId],
    );
    await ear.hears({ event: 'runs', data: { id: runId, view: { status: 'cancelled' } } }, 20_000);
  });
});

it('a replica that leaves sends its readers to another, with their place', async () => {
  const leaving = await startApp({ database: a.app.database });
  const worker = await a.worker();
  const runId = await a.running(worker);
  const ear = await listening(leaving.url, `runs,run:${runId}`);
  await leaving.stop();
  await ear.done;
  expect(ear.heard.at(-1)).toMatchObject({ event: 'moved', data: { done: false } });
  await worker.complete(runId, { text: 'done' });
  const again = await listening(b.url, `runs,run:${runId}`, { lastEventId: ear.lastId });
  await again.hears({ data: { topic: `run:${runId}`, event: 'done' } });
  await again.hears({ event: 'runs', data: { id: runId, view: { status: 'succeeded' } } });
  expect(again.heard.filter(({ data }) => data.kind === 'reset')).toEqual([]);
});

it('U-23: a reader that takes nothing is closed once it is a mebibyte behind, and keeps no place', async () => {
  const limited = await Scene.open({ env: { SIGNALBOX_STREAMS_PER_PRINCIPAL: '1' } });
  try {
    const worker = await limited.worker();
    const runId = await limited.running(worker);
    const headers = { authorization: `Bearer ${limited.key}` };
    const topics = `runs,run:${runId}`;
    const request = http.get(`${limited.app.url}/api/v1/stream?topics=${topics}`, { agent: false, headers });
    request.on('error', () => {});
    const [response] = (await once(request, 'response')) as [http.IncomingMessage];
    response.on('error', () => {}).pause();
    const lines = Array.from({ length: 20 }, () => log('x'.repeat(20_000)));
    for (let batch = 0; batch < 40; batch += 1) await worker.send(runId, lines);
    await eventually(
      async () => {
        const ear = new Ear(limited.app.url, 'runs', { key: limited.key });
        ears.push(ear);
        await ear.hears({ data: { kind: 'reset' } }, 1_000);
      },
      { within: 20_000 },
    );
    request.destroy();
  } finally {
    await limited.close();
  }
}, 60_000);
