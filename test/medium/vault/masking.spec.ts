import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { setLogLevel } from '../../../src/platform/log/log.ts';
import { startApp, type RunningApp } from '../../support/app.ts';
import type { StubWorker } from '../../support/stub-worker.ts';
import { ended, log, output, started } from '../evidence/scene.ts';
import { WRITERS, countOfMarks, dump, leaksIn, wholeStream } from './leaks.ts';
import { VaultScene } from './scene.ts';

const REDACTED = '***REDACTED***';
const SECRET = 'ev-S3cret/"ü" +& value';
const NUMBER = '8123456790';
const OTHER = 'on-demand-Pa55word';

let app: RunningApp;
let scene: VaultScene;
beforeAll(async () => {
  app = await startApp();
  scene = new VaultScene(app, await app.account());
});
afterAll(() => app.stop());

/** A worker with a run, which was given the secrets. */
async function running(handle: string): Promise<{ readonly worker: StubWorker; readonly runId: string }> {
  const worker = await scene.worker(handle);
  await scene.give(worker, `${handle}-text`, SECRET);
  await scene.give(worker, `${handle}-number`, NUMBER);
  const job = await scene.job(worker);
  if (job.secrets[`${handle}-text`] !== SECRET) throw new Error('the worker was not given the secret');
  await worker.start(job.run_id);
  return { worker, runId: job.run_id };
}

const kindsOf = (text: string): object[] => [
  log(`log ${text}`, { payload: { [text]: text } }),
  { event_type: 'message.created', content: `message ${text}`, payload: { text } },
  started(`span-${text.slice(0, 3)}`, { payload: { args: { deep: [[{ header: text, pin: Number(NUMBER) }]] } } }),
  ended(`span-${text.slice(0, 3)}`, { status: text, payload: { result: text, error: text } }),
  started(`id ${text}`, { name: text, parent_span_id: text, kind: text }),
  output(`partial ${text}`),
  { event_type: `custom.${text}`, name: text, metadata: { text }, more: { text }, level: text, logger: text },
  { event_type: 'token.created', usage: { input_tokens: 5, model: text }, payload: { model: text, note: text } },
  log(`${text} ${'large '.repeat(20_000)} ${text}`),
];

describe('a secret that was handed out', () => {
  const written: string[] = [];
  beforeEach(() => {
    setLogLevel('debug');
    jest.spyOn(process.stdout, 'write').mockImplementation((chunk) => {
      written.push(String(chunk));
      return true;
    });
  });
  afterEach(() => {
    jest.restoreAllMocks();
    setLogLevel('error');
  });

  it.each(Object.entries(WRITERS))('F-47, D-41, D-42: is nowhere when an agent says it as %s', async (name, write) => {
    const { worker, runId } = await running(`says-${name.replaceAll(' ', '-').toLowerCase()}`);
    const text = write(SECRET);
    const live = wholeStream(app, scene.account.key, runId);
    expect((await worker.send(runId, kindsOf(text))).status).toBe(202);
    const rest = { key: worker.token, body: { worker_id: worker.id, content: text, payload: { text } } };
    expect((await app.call('POST', `/api/v1/runs/${runId}/messages`, rest)).json.content).not.toContain(text);
    const artifact = { worker_id: worker.id, name: `n ${text}`, content: `c ${text}`, mime_type: 'text/plain' };
    await app.call('POST', `/api/v1/runs/${runId}/artifacts`, { key: worker.token, body: artifact });
    await worker.frame('artifact_write', { run_id: runId, name: text, content: text, mime_type: 'text/plain' });
    const aside = { snapshot: { components: [{ text }] }, diagnostics: { [text]: Number(NUMBER) } };
    const end = await worker.complete(
      runId,
      { text, [text]: 1 },
      { ...aside, usage: { model: text, input_tokens: 2 } },
    );
    expect(end.payload).toMatchObject({ accepted: true, status: 'succeeded' });
    await worker.send(runId, kindsOf(`late ${text}`)); // beside the record, and as little of it
    await worker.fail(runId, `late ${text}`, aside);

    const told = await live;
    const { text: shown } = await scene.call('GET', `/api/v1/runs/${runId}`);
    const events = await scene.call('GET', `/api/v1/runs/${runId}/events?limit=1000`);
    for (const place of [await dump(app), told, shown, events.text, written.join('')])
      expect(leaksIn(place, [SECRET, NUMBER])).toEqual([]);
    expect(countOfMarks(told)).toBeGreaterThan(10);
    const run = await scene.run(runId);
    expect(run.output.text).toContain(REDACTED);
    const [row] = await app.database.query<{ masked: number }>(`SELECT masked FROM run WHERE id = $1`, [runId]);
    expect(row?.masked).toBeGreaterThan(20);
  });

  it('D-41: is not in what is said of a failure', async () => {
    const { worker, runId } = await running('fails');
    const live = wholeStream(app, scene.account.key, runId);
    await worker.fail(runId, `RuntimeError: denied for ${SECRET}`, { diagnostics: { failure: { raw_error: SECRET } } });
    expect((await scene.run(runId)).error).toBe(`RuntimeError: denied for ${REDACTED}`);
    expect(leaksIn(`${await live}${await dump(app)}${written.join('')}`, [SECRET])).toEqual([]);
  });
});

it('is counted by field, on its event and on its run', async () => {
  const { worker, runId } = await running('counted');
  await worker.send(runId, [log('nothing'), log(`${SECRET} ${SECRET}`, { payload: { pin: Number(NUMBER) } })]);
  const rows = await app.database.query(
    `SELECT masked FROM run_log WHERE run_id = $1 AND type = 'log.created' ORDER BY seq`,
    [runId],
  );
  expect(rows).toEqual([{ masked: null }, { masked: { content: 2, payload: 1 } }]);
  await worker.send(runId, [
    started('s', { payload: { args: { key: SECRET } } }),
    ended('s', { payload: { result: SECRET } }),
  ]);
  expect((await scene.call('GET', `/api/v1/runs/${runId}/spans/s`)).json.masked).toEqual({ payload: 2 });
  await worker.complete(runId, { text: SECRET });
  expect((await scene.call('GET', `/api/v1/runs/${runId}/completeness`)).json.masked).toBe(6);
});

it('D-44: the call itself gets the value, and so does the next attempt', async () => {
  const { worker, runId } = await running('real');
  await worker.send(runId, [log(`using ${SECRET}`)]);
  await worker.complete(runId, { text: SECRET });
  expect((await scene.job(worker)).secrets['real-text']).toBe(SECRET);
});

it('a value that is pulled while the run goes on is masked from the next event on, by every replica', async () => {
  const other = await startApp({ database: app.database });
  try {
    const { worker, runId } = await running('pulls');
    await worker.send(runId, [log('before')]);
    await worker.at(other.url).send(runId, [log('before, too')]);
    await scene.give(worker, 'late-one', OTHER, true);
    expect((await worker.frame('secrets_request')).payload.secrets['late-one']).toBe(OTHER);
    await worker.at(other.url).send(runId, [log(`here ${OTHER}`)]);
    await worker.send(runId, [log(`there ${OTHER}`)]);
    expect(leaksIn(await dump(app), [OTHER])).toEqual([]);
  } finally {
    await other.stop();
  }
});

it('a replica that starts in the middle of a run masks what was handed out before', async () => {
  const { worker, runId } = await running('restarts');
  await worker.send(runId, [log('before')]);
  const other = await startApp({ database: app.database });
  try {
    await worker.at(other.url).send(runId, [log(`after ${SECRET}`)]);
    await worker.at(other.url).complete(runId, { text: SECRET });
  } finally {
    await other.stop();
  }
  expect(leaksIn(await dump(app), [SECRET])).toEqual([]);
  expect((await scene.run(runId)).output).toEqual({ text: REDACTED });
});

it('the worker’s own token and the run’s are masked where no secret was handed out', async () => {
  const worker = await scene.worker('own-token');
  const { run_id: runId } = await scene.job(worker);
  await worker.start(runId);
  await worker.send(runId, [log(`Bearer ${worker.token}`), log(Buffer.from(`x:${worker.token}`).toString('base64'))]);
  expect(leaksIn(await dump(app), [worker.token])).toEqual([]);
});

it('N-31: what is no credential stays as it was said', async () => {
  const { worker, runId } = await running('personal');
  await worker.send(runId, [log('Erika Mustermann, 1970-01-01, erika@example.org')]);
  expect((await scene.call('GET', `/api/v1/runs/${runId}/events`)).text).toContain('Erika Mustermann, 1970-01-01');
});

it('U-57: a secret of one letter does not turn evidence into garbage', async () => {
  const worker = await scene.worker('short');
  for (const [name, value] of Object.entries({ one: 'a', truth: 'true', digit: '1' }))
    await scene.give(worker, name, value);
  const { run_id: runId } = await scene.job(worker);
  await worker.start(runId);
  await worker.send(runId, [log('a true story, part 1', { payload: { ok: true, part: 1, a: 'a' } })]);
  const [event] = (await scene.call('GET', `/api/v1/runs/${runId}/events`)).json;
  expect(event).toMatchObject({ content: 'a true story, part 1', payload: { ok: true, part: 1, a: 'a' } });
});
