import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Json } from '../../support/app.ts';
import type { StubWorker } from '../../support/stub-worker.ts';
import { Scene, ended, log, output, started } from './scene.ts';

/** In everything that is content, and in nothing else. */
const WORD = 'zanzibar';

let scene: Scene;
let worker: StubWorker;
beforeAll(async () => {
  scene = await Scene.open();
  await keep('metadata');
});
afterAll(() => scene.close());

async function keep(content: string): Promise<void> {
  const { status } = await scene.app.call('PATCH', '/api/v1/account/settings', { key: scene.key, body: { content } });
  expect(status).toBe(200);
}

/** A run in which everything that can hold content does, up to its end. */
async function said(): Promise<string> {
  worker = await scene.worker();
  const { json } = await scene.app.call('POST', '/api/v1/runs', {
    key: scene.key,
    headers: { 'idempotency-key': `key-${worker.handle}` },
    body: { agent_id: worker.handle, input: { prompt: WORD }, metadata: { note: WORD }, labels: { team: 'blue' } },
  });
  const runId = json.run_id;
  const job = await worker.claimSoon();
  expect(job.input).toEqual({ prompt: WORD }); // whoever works on it is told what to do
  await worker.start(runId);
  await worker.send(runId, [
    log(WORD),
    started('one', { name: 'search', payload: { args: { q: WORD }, skill_name: 'looking' }, metadata: { a: WORD } }),
    ended('one', { payload: { result: `${WORD} `.repeat(10_000) }, usage: { input_tokens: 3 } }),
    { event_type: 'message.created', role: 'assistant', content: WORD, payload: { a: WORD } },
    { event_type: 'custom.created', whatever: WORD },
    output(WORD),
  ]);
  await worker.frame('artifact_write_request', {
    run_id: runId,
    name: 'report.md',
    content: WORD,
    mime_type: 'text/plain',
  });
  return runId;
}

async function tablesWith(word: string): Promise<string[]> {
  const tables = await scene.app.database.query<{ name: string }>(
    `SELECT relname AS name FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace`,
  );
  const found: string[] = [];
  for (const { name } of tables) {
    const [row] = await scene.app.database.query<{ count: number }>(
      `SELECT count(*)::int AS count FROM "${name}" AS row WHERE row::text ILIKE '%' || $1 || '%'`,
      [word],
    );
    if (row && row.count > 0) found.push(name);
  }
  return found;
}

describe('D-45: of an account that keeps no content', () => {
  it('nothing that was said is in the database once its run has ended, and what happened is', async () => {
    const runId = await said();
    await worker.complete(
      runId,
      { text: WORD },
      { diagnostics: { d: WORD }, snapshot: { s: WORD }, usage: { input_tokens: 3, cost_amount: 1 } },
    );
    expect(await tablesWith(WORD)).toEqual([]);
    expect(await scene.run(runId)).toMatchObject({
      ...{ status: 'succeeded', content_withheld: true, input: {}, output: null, metadata: {}, diagnostics: null },
      ...{ revivable: false, labels: { team: 'blue' }, usage: { input_tokens: 3, cost_amount: 1 } },
    });
    const events = await scene.events(runId);
    expect(events.map((event: Json) => event.event_type)).toEqual([
      ...[
        'log.created',
        'span.started',
        'span.ended',
        'message.created',
        'custom.created',
        'output.updated',
        'artifact.created',
      ],
    ]);
    expect(events[1]).toMatchObject({
      name: 'search',
      kind: 'tool',
      span_id: 'one',
      payload: { skill_name: 'looking' },
    });
    expect(await scene.spans(runId)).toMatchObject([{ span_id: 'one', name: 'search', status: 'ok', kind: 'tool' }]);
  });

  it.each([
    [
      'failed',
      (runId: string) => worker.fail(runId, `ValueError: ${WORD}`, { snapshot: { s: WORD }, diagnostics: { d: WORD } }),
    ],
    [
      'was cancelled',
      async (runId: string) => {
        await scene.app.call('POST', `/api/v1/runs/${runId}/cancel`, { key: scene.key });
        await worker.complete(runId, { text: WORD }); // late
        await worker.send(runId, [log(WORD), log(`${WORD} `.repeat(20_000))]);
        await worker.frame('artifact_write_request', {
          run_id: runId,
          name: 'n',
          content: WORD,
          mime_type: 'text/plain',
        });
      },
    ],
  ])('nothing is there either when the run %s', async (_, end) => {
    const runId = await said();
    await end(runId);
    expect(await tablesWith(WORD)).toEqual([]);
    expect((await scene.run(runId)).content_withheld).toBe(true);
  });

  it('nothing is there of an attempt that failed and is tried again, but the input', async () => {
    worker = await scene.worker();
    await scene.app.call('PUT', `/api/v1/agents/${worker.handle}/policy`, {
      key: scene.key,
      body: { retry: { on: ['failed'], max_attempts: 2, backoff_seconds: 0 } },
    });
    const runId = await scene.running(worker);
    await worker.fail(runId, `ValueError: ${WORD}`, { snapshot: { s: WORD } });
    expect((await scene.run(runId)).status).toBe('queued');
    expect(await tablesWith(WORD)).toEqual([]);
  });

  it('while a run goes on, its input is told to nobody but its worker', async () => {
    const runId = await said();
    expect(await tablesWith(WORD)).toEqual(['run']);
    for (const path of [
      `/api/v1/runs/${runId}`,
      '/api/v1/runs',
      `/api/v1/runs/${runId}/tree`,
      `/api/v1/runs/${runId}/events`,
    ]) {
      const { text } = await scene.app.call('GET', path, { key: scene.key });
      expect(text).not.toContain(WORD);
    }
    await worker.complete(runId, {});
  });

  it('an event id that comes again is the same run, also when what it asked is forgotten', async () => {
    worker = await scene.worker();
    const body = { input: { prompt: WORD }, event_id: 'evt_same' };
    const invoke = () => scene.app.call('POST', `/api/v1/agents/${worker.handle}/invoke`, { key: scene.key, body });
    const [first] = await Promise.all([invoke(), worker.serve({ text: WORD })]);
    expect(first.json).toMatchObject({ status: 'succeeded', output: null, content_withheld: true });
    expect((await invoke()).json.run_id).toBe(first.json.run_id);
    expect(await tablesWith(WORD)).toEqual([]);
  });
});

describe('D-46: what needs content says that there is none', () => {
  it('instead of an empty answer', async () => {
    const runId = await said();
    await worker.complete(runId, { text: WORD }, { snapshot: { s: 1 } });
    const [artifact] = await scene.get(`/api/v1/runs/${runId}/artifacts`);
    expect(artifact).toMatchObject({ bytes: expect.any(Number) });
    for (const path of [
      `artifacts/${artifact.artifact_id}`,
      `artifacts/${artifact.artifact_id}/content`,
      `compare?with=${runId}`,
    ]) {
      const { status, json } = await scene.app.call('GET', `/api/v1/runs/${runId}/${path}`, { key: scene.key });
      expect({ path, status, code: json.code }).toEqual({ path, status: 409, code: 'content.withheld' });
    }
    expect(await scene.get(`/api/v1/runs/${runId}/spans/one`)).toMatchObject({
      input: null,
      output: null,
      content_withheld: true,
    });
    const revived = await scene.app.call('POST', `/api/v1/runs/${runId}/revive`, { key: scene.key });
    expect({ status: revived.status, detail: revived.json.detail }).toEqual({
      status: 409,
      detail: expect.stringContaining('keeps no content'),
    });
  });
});

it('a run is kept as it was begun: what is decided later counts for those that begin later', async () => {
  await keep('full');
  const full = await said();
  await keep('metadata');
  await worker.complete(full, { text: WORD });
  expect(await scene.run(full)).toMatchObject({ input: { prompt: WORD }, output: { text: WORD } });
  await keep('full');
});
