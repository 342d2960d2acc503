import { createHash, randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Json } from '../../support/app.ts';
import type { StubWorker } from '../../support/stub-worker.ts';
import { Scene } from './scene.ts';

const LIMIT = 64 * 1_024;
const TEXT = { name: 'report.md', content: '# All is well', mime_type: 'text/markdown' };

let scene: Scene;
let worker: StubWorker;
beforeAll(async () => {
  scene = await Scene.open({ env: { SIGNALBOX_ARTIFACT_LIMIT_BYTES: String(LIMIT) } });
  worker = await scene.worker();
});
afterAll(() => scene.close());

/** A run of its own, so that tests do not wait for each other's. */
async function running(): Promise<string> {
  worker = await scene.worker();
  return scene.running(worker);
}

const path = (runId: string, artifactId = ''): string =>
  `/api/v1/runs/${runId}/artifacts${artifactId && `/${artifactId}`}`;
const post = (runId: string, body: object, key = worker.token) => scene.app.call('POST', path(runId), { key, body });
const put = (runId: string, id: string, body: object, key = worker.token) =>
  scene.app.call('PUT', path(runId, id), { key, body });
const frame = (runId: string, more: object = {}, envelope?: object) =>
  worker.frame('artifact_write_request', { run_id: runId, ...TEXT, ...more }, envelope);
const download = (runId: string, id: string, headers: Record<string, string> = {}) =>
  fetch(`${scene.app.url}${path(runId, id)}/content`, {
    headers: { authorization: `Bearer ${scene.key}`, ...headers },
  });

describe('an artifact', () => {
  it('K-51: that was written in bytes comes back in the same bytes', async () => {
    const runId = await running();
    const bytes = randomBytes(20_000);
    const { status, json } = await post(runId, {
      name: 'photo.png',
      content: bytes.toString('base64'),
      mime_type: 'image/png;base64',
    });
    expect({ status, json }).toMatchObject({
      status: 200,
      json: { run_id: runId, name: 'photo.png', mime_type: 'image/png;base64' },
    });
    const got = await download(runId, json.artifact_id);
    expect(got.headers.get('content-type')).toBe('image/png');
    expect(sha(await got.bytes())).toBe(sha(bytes));
  });

  it('is listed without its content and shown with it, text byte for byte', async () => {
    const runId = await running();
    const content = ' <script>alert("1")</script>\r\n\u2028 é 😀 ';
    const { json } = await post(runId, { name: ' odd \u2029name ', content });
    expect(json).toEqual({
      artifact_id: expect.any(String),
      run_id: runId,
      name: ' odd \u2029name ',
      mime_type: 'text/plain',
      content,
      created_at: expect.any(String),
      bytes: Buffer.byteLength(content),
      is_cut: false,
    });
    const { content: _, ...listed } = json;
    expect(await scene.get(path(runId))).toEqual([listed]);
    expect(await scene.get(path(runId, json.artifact_id))).toEqual(json);
  });

  it('U-35: is saved and never shown by a browser', async () => {
    const runId = await running();
    const { json } = await post(runId, {
      name: 'x.html',
      content: '<script>alert(1)</script>',
      mime_type: 'text/html',
    });
    const { headers } = await download(runId, json.artifact_id);
    expect(headers.get('content-disposition')).toBe(`attachment; filename="x.html"; filename*=UTF-8''x.html`);
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('content-security-policy')).toContain('sandbox');
  });

  it('can be had in parts, and a part that is not there is 416', async () => {
    const runId = await running();
    const { json } = await post(runId, { name: 'digits', content: '0123456789' });
    const part = await download(runId, json.artifact_id, { range: 'bytes=2-4' });
    expect({ status: part.status, text: await part.text(), range: part.headers.get('content-range') }).toEqual({
      status: 206,
      text: '234',
      range: 'bytes 2-4/10',
    });
    const beyond = await download(runId, json.artifact_id, { range: 'bytes=10-' });
    expect({ status: beyond.status, range: beyond.headers.get('content-range') }).toEqual({
      status: 416,
      range: 'bytes */10',
    });
    expect(await beyond.json()).toMatchObject({ code: 'input.range', request_id: expect.any(String) });
    const tag = String(part.headers.get('etag'));
    await put(runId, json.artifact_id, { name: 'digits', content: 'abcdefghij' });
    const resumed = await download(runId, json.artifact_id, { range: 'bytes=5-', 'if-range': tag });
    expect({ status: resumed.status, text: await resumed.text() }).toEqual({ status: 200, text: 'abcdefghij' });
  });

  it('is overwritten by its worker, by REST and by frame', async () => {
    const runId = await running();
    const { type, payload } = await frame(runId);
    expect(type).toBe('artifact_stored');
    const id = payload.artifact_id;
    expect((await frame(runId, { artifact_id: id, content: 'second' })).payload).toEqual({ artifact_id: id });
    const { json } = await put(runId, id, { name: 'renamed', content: 'third', mime_type: 'text/x-third' });
    expect(json).toMatchObject({
      artifact_id: id,
      name: 'renamed',
      content: 'third',
      mime_type: 'text/x-third',
      bytes: 5,
    });
    expect(await scene.get(path(runId))).toHaveLength(1);
    const types = (await scene.events(runId)).map((event: Json) => [event.event_type, event.payload.artifact_id]);
    expect(types).toEqual([
      ['artifact.created', id],
      ['artifact.updated', id],
      ['artifact.updated', id],
    ]);
  });

  it('of a frame that comes again is the same artifact', async () => {
    const runId = await running();
    const envelope = { id: 'msg_repeated', needsReply: true };
    const first = await frame(runId, {}, envelope);
    expect((await frame(runId, {}, envelope)).payload).toEqual(first.payload);
    expect(await scene.get(path(runId))).toHaveLength(1);
  });

  it('that was taken from an event is part of the record: nobody overwrites it', async () => {
    const runId = await running();
    await worker.send(runId, [{ event_type: 'log.created', content: 'x'.repeat(70_000) }]);
    const [{ artifact_id: id }] = await scene.get(path(runId));
    const { status, json } = await put(runId, id, TEXT);
    expect({ status, code: json.code }).toEqual({ status: 409, code: 'artifact.not_writable' });
    expect((await scene.get(path(runId, id))).content).toMatch(/^x+$/);
  });
});

describe('what an artifact holds', () => {
  it('is never refused: what cannot be stored is altered, and the run says so', async () => {
    const runId = await running();
    const body = Buffer.from('{"name":"n","content":"a\\u0000b\\ud800c","__proto__":1}');
    const { status, json } = await scene.app.call('POST', path(runId), { key: worker.token, body });
    expect({ status, content: json.content }).toEqual({ status: 200, content: 'a\ufffdb\ufffdc' });
    expect((await scene.events(runId))[0]).toMatchObject({ event_type: 'artifact.created', altered: ['content'] });
  });

  it('U-10: may be as large as the limit and not a byte larger, and the refusal says how large that is', async () => {
    const runId = await running();
    expect((await post(runId, { name: 'n', content: 'é'.repeat(LIMIT / 2) })).status).toBe(200);
    const { status, json } = await post(runId, { name: 'n', content: `${'é'.repeat(LIMIT / 2)}x` });
    expect({ status, code: json.code, detail: json.detail }).toEqual({
      status: 413,
      code: 'artifact.too_large',
      detail: expect.stringContaining(String(LIMIT)),
    });
    expect((await frame(runId, { content: 'x'.repeat(LIMIT + 1) })).status).toBe(413);
    expect(await scene.get(path(runId))).toHaveLength(1);
  });

  it.each([
    [{ content: 'x' }, ['body', 'name']],
    [{ name: 'x' }, ['body', 'content']],
    [{ name: 'x', content: 7 }, ['body', 'content']],
    [{ name: 'x'.repeat(1_001), content: '' }, ['body', 'name']],
    [{ name: 'x', content: '', mime_type: null }, ['body', 'mime_type']],
  ])('must be named: %#', async (body, loc) => {
    const { status, json } = await post(await running(), body);
    expect({ status, loc: json.detail[0].loc }).toEqual({ status: 422, loc });
  });
});

describe('the order of an artifact and the end of its run', () => {
  it('F-38: who was answered before the end is told before the end', async () => {
    const runId = await running();
    const stream = fetch(`${scene.app.url}/api/v1/runs/${runId}/stream`, {
      headers: { authorization: `Bearer ${scene.key}` },
    });
    const told = stream.then((response) => response.text());
    const [written] = await Promise.all([frame(runId), frame(runId, { name: 'second' })]);
    expect(written.status).toBe(200);
    await worker.complete(runId, { text: 'done' });
    const events = (await told).split('\n\n');
    const ofArtifacts = events.flatMap((event, index) => (event.includes('"artifact.created"') ? [index] : []));
    expect(ofArtifacts).toHaveLength(2);
    expect(Math.max(...ofArtifacts)).toBeLessThan(
      events.findIndex((event) => event.includes('event: message.completed')),
    );
  });

  it('after it nothing is added: it is kept as late evidence, whole, and the sender is told', async () => {
    const runId = await running();
    const { payload } = await frame(runId);
    await worker.complete(runId, { text: 'done' });
    const before = await scene.kept(runId);
    const answers = [await post(runId, TEXT), await put(runId, payload.artifact_id, { ...TEXT, content: 'late' })];
    expect(answers.map(({ status, json }) => [status, json.code])).toEqual([
      [409, 'run.terminal'],
      [409, 'run.terminal'],
    ]);
    expect((await frame(runId, {}, { id: 'msg_late', needsReply: true })).status).toBe(409);
    expect((await frame(runId, {}, { id: 'msg_late', needsReply: true })).status).toBe(409);
    expect(await scene.kept(runId)).toEqual(before);
    const late = await scene.get(`/api/v1/runs/${runId}/late`);
    expect(late).toHaveLength(3);
    expect(late[1]).toMatchObject({
      kind: 'artifact',
      why: 'after_end',
      event: null,
      report: { name: 'report.md', content: 'late' },
    });
  });

  it('of a worker that does not hold the run changes nothing', async () => {
    const runId = await running();
    const other = await scene.worker(worker.handle);
    const { status, payload } = await other.frame('artifact_write_request', { run_id: runId, ...TEXT });
    expect({ status, code: payload.code }).toEqual({ status: 409, code: 'run.stale_attempt' });
    expect(await scene.get(path(runId))).toEqual([]);
    expect(await scene.late(runId)).toMatchObject([{ kind: 'artifact', why: 'not_owner', worker_id: other.id }]);
  });
});

describe('F-48: the id of an artifact', () => {
  it('opens nothing under another run, agent or account', async () => {
    const runId = await running();
    const { json } = await post(runId, TEXT);
    const owner = worker;
    const otherRun = await running();
    for (const suffix of ['', '/content'])
      expect(await scene.app.call('GET', path(otherRun, json.artifact_id) + suffix, { key: scene.key })).toMatchObject({
        status: 404,
        json: { code: 'artifact.not_found' },
      });
    expect(await put(otherRun, json.artifact_id, TEXT)).toMatchObject({
      status: 404,
      json: { code: 'artifact.not_found' },
    });
    expect(await put(runId, json.artifact_id, TEXT)).toMatchObject({ status: 404, json: { code: 'run.not_found' } });
    expect(await post(runId, TEXT)).toMatchObject({ status: 404, json: { code: 'run.not_found' } });
    expect(await post('run_unknown', TEXT, owner.token)).toMatchObject({
      status: 404,
      json: { code: 'run.not_found' },
    });
    const stranger = await scene.app.account();
    expect(await scene.app.call('GET', path(runId, json.artifact_id), { key: stranger.key })).toMatchObject({
      status: 404,
    });
    expect((await post(runId, TEXT, scene.key)).status).toBe(403);
    expect(await scene.get(path(runId, json.artifact_id))).toEqual(json);
  });
});

function sha(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
