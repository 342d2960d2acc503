import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startApp, type Json, type RunningApp } from '../../support/app.ts';
import { pause, type StubWorker } from '../../support/stub-worker.ts';
import { log, output } from '../evidence/scene.ts';
import { dump, leaksIn, wholeStream } from './leaks.ts';
import { VaultScene } from './scene.ts';

const REDACTED = '***REDACTED***';
const SECRET = 'sk-proj-AbCdEfGhIjKl0123';
const [FIRST, SECOND] = [SECRET.slice(0, 11), SECRET.slice(11)];

let app: RunningApp;
let other: RunningApp;
let scene: VaultScene;
beforeAll(async () => {
  app = await startApp();
  other = await startApp({ database: app.database });
  scene = new VaultScene(app, await app.account());
});
afterAll(async () => {
  await other.stop();
  await app.stop();
});

async function running(handle: string): Promise<{ readonly worker: StubWorker; readonly runId: string }> {
  const worker = await scene.worker(handle);
  await scene.give(worker, `${handle}-key`, SECRET);
  const { run_id: runId } = await scene.job(worker);
  await worker.start(runId);
  return { worker, runId };
}

async function contents(runId: string): Promise<string[]> {
  const { json } = await scene.call('GET', `/api/v1/runs/${runId}/events?limit=1000`);
  return json.map(({ content }: Json) => String(content));
}

/** All that is told of texts in a run's stream, one after the other. */
function textsIn(stream: string): string {
  const lines = stream.split('\n').filter((line) => line.startsWith('data: '));
  return lines.map((line) => String(JSON.parse(line.slice(6)).content ?? '')).join('');
}

async function soon(look: () => Promise<string[]>, wanted: readonly string[]): Promise<void> {
  for (const until = Date.now() + 15_000; Date.now() < until; await pause(100))
    if (JSON.stringify(await look()) === JSON.stringify(wanted)) return;
  expect(await look()).toEqual(wanted);
}

describe('D-43: a value that is split over texts', () => {
  it.each([
    [
      'two lines of one batch',
      async (worker: StubWorker, runId: string) => {
        await worker.send(runId, [log(`key ${FIRST}`), log(`${SECOND} ok`)]);
      },
    ],
    [
      'two batches',
      async (worker: StubWorker, runId: string) => {
        await worker.send(runId, [log(`key ${FIRST}`)]);
        await worker.send(runId, [log(`${SECOND} ok`)]);
      },
    ],
    [
      'two batches at two replicas',
      async (worker: StubWorker, runId: string) => {
        await worker.send(runId, [log(`key ${FIRST}`)]);
        await worker.at(other.url).send(runId, [log(`${SECOND} ok`, { event_sequence: 100 })]);
      },
    ],
  ])('is told by neither: %s', async (name, send) => {
    const { worker, runId } = await running(`splits-${name.replaceAll(' ', '-')}`);
    const live = wholeStream(app, scene.account.key, runId);
    await send(worker, runId);
    await worker.complete(runId, { text: 'done' });
    const told = await live;
    expect(textsIn(told)).toContain(`key ${REDACTED}${REDACTED} ok`);
    expect(await contents(runId)).toEqual([`key ${REDACTED}`, `${REDACTED} ok`]);
    for (const part of [FIRST, SECOND]) expect(leaksIn(`${told}${await dump(app)}`, [part])).toEqual([]);
  });

  it('is told by no message and no token that comes character by character', async () => {
    const { worker, runId } = await running('streams');
    for (const part of `say ${SECRET} now`.match(/.{1,5}/g) ?? [])
      await worker.send(runId, [{ event_type: 'token.delta', payload: { delta: part } }, log('between')]);
    const key = { key: worker.token, body: { worker_id: worker.id, content: `message ${FIRST}` } };
    expect((await app.call('POST', `/api/v1/runs/${runId}/messages`, key)).json.content).toBe('message ');
    await worker.send(runId, [{ event_type: 'message.created', role: 'assistant', content: SECOND }]);
    await worker.complete(runId, { text: 'done' });
    const { json } = await scene.call('GET', `/api/v1/runs/${runId}/events?limit=1000`);
    const deltas = json.map(({ payload }: Json) => String(payload?.delta ?? '')).join('');
    expect(deltas.replaceAll(REDACTED, '')).toBe('say s now');
    expect(leaksIn(await dump(app), [FIRST, SECOND])).toEqual([]);
  });

  it('is told by no partial output, which ends before it', async () => {
    const { worker, runId } = await running('partial');
    await worker.send(runId, [output(`say ${FIRST}`)]);
    expect((await scene.run(runId)).output).toEqual({ text: 'say ' });
    await worker.send(runId, [output(`say ${SECRET} now`)]);
    expect((await scene.run(runId)).output).toEqual({ text: `say ${REDACTED} now` });
  });
});

describe('U-57: a text whose end only looks like the beginning of a value', () => {
  it('is told as it was sent when the next one says so, and after it nothing came late', async () => {
    const { worker, runId } = await running('innocent');
    await worker.send(runId, [log(`see ${FIRST}`), log('other', { logger: 'another' })]);
    expect(await contents(runId)).toEqual(['other']);
    await worker.send(runId, [log('is all')]);
    expect(await contents(runId)).toEqual([`see ${FIRST}`, 'other', 'is all']);
  });

  it('is told within seconds when nothing else comes, to live readers in its place', async () => {
    const { worker, runId } = await running('alone');
    const live = wholeStream(app, scene.account.key, runId);
    await worker.send(runId, [log(`see ${FIRST}`), log('other', { logger: 'another' })]);
    await soon(() => contents(runId), [`see ${FIRST}`, 'other']);
    await worker.send(runId, [log(SECOND)]); // the rest comes after all: it is known what it is
    await worker.complete(runId, { text: 'done' });
    expect(textsIn(await live)).toContain(`see ${FIRST}other${REDACTED}`);
  });

  it('is told at the end of its run, which does not come before it', async () => {
    const { worker, runId } = await running('ends');
    const live = wholeStream(other, scene.account.key, runId);
    await worker.send(runId, [log(`see ${FIRST}`)]);
    await worker.complete(runId, { text: 'done' });
    const told = await live;
    expect(textsIn(told)).toContain(`see ${FIRST}`);
    expect(told.indexOf(FIRST)).toBeLessThan(told.indexOf('event: done'));
  });

  it('is told to a reader who comes between the end of its run and its own telling', async () => {
    const { worker, runId } = await running('between');
    await worker.send(runId, [log('still to be told')]);
    await worker.complete(runId, { text: 'done' });
    const held = (seq: string) => app.database.query(`UPDATE run SET held_seq = ${seq} WHERE id = $1`, [runId]);
    await held('(SELECT seq FROM run_log WHERE run_id = run.id AND type <> $$run.status$$)');
    const lives = [wholeStream(other, scene.account.key, runId), wholeStream(other, scene.account.key, runId, false)];
    await pause(500);
    await held('NULL');
    for (const told of await Promise.all(lives)) {
      expect(textsIn(told)).toContain('still to be told');
      expect(told).not.toContain('event: gap');
      expect(told).toContain('event: done');
    }
  });

  it('waits sealed, is known when it is sent again, and holds up no other run', async () => {
    const { worker, runId } = await running('sealed');
    const events = [log(`see ${FIRST}`, { event_id: 'e', event_sequence: 1 })];
    await worker.send(runId, events);
    await worker.send(runId, events);
    const rows = (await dump(app)).split('\n').filter((row) => row.includes(runId));
    expect(leaksIn(rows.join('\n'), [FIRST])).toEqual([]);
    await soon(() => contents(runId), [`see ${FIRST}`]);
  });
});
