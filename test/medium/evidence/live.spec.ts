import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { StreamEvent } from '../../support/events.ts';
import { eventually } from '../../support/rest.ts';
import { pause, startStub } from '../../support/stub-worker.ts';
import { Ear, type EarOptions } from './ear.ts';
import { Scene, log } from './scene.ts';

let scene: Scene;
beforeAll(async () => {
  scene = await Scene.open({ env: { SIGNALBOX_STREAM_COMMENT_SECONDS: '0.2', SIGNALBOX_STREAMS_PER_PRINCIPAL: '5' } });
});
afterAll(() => scene.close());
afterEach(() => {
  for (const ear of ears.splice(0)) ear.stop();
});

const ears: Ear[] = [];
async function listening(topics: string, options: Partial<EarOptions> = {}): Promise<Ear> {
  const ear = new Ear(scene.app.url, topics, { key: scene.key, ...options });
  ears.push(ear);
  if (options.lastEventId === undefined) for (const topic of topics.split(',')) await ear.hears({ data: { topic } });
  return ear;
}

describe('a stream of an account', () => {
  it('tells of a run what lists show of it, as it moves, and of the worker and agent that it moves', async () => {
    const worker = await scene.worker();
    const ear = await listening('runs,workers,agents');
    expect(ear.heard.slice(0, 3)).toMatchObject(
      ['runs', 'workers', 'agents'].map((topic) => ({ event: topic, data: { topic, kind: 'reset', id: null } })),
    );
    const runId = await scene.queue(worker);
    await ear.hears({ event: 'runs', data: { kind: 'changed', id: runId, view: { run_id: runId, status: 'queued' } } });
    await worker.claimSoon();
    await worker.start(runId);
    await ear.hears({ event: 'runs', data: { id: runId, view: { status: 'running', worker_id: worker.id } } });
    await ear.hears({ event: 'workers', data: { id: worker.id, view: { runs: [{ run_id: runId }] } } });
    await worker.complete(runId, { text: 'done' });
    const ended = await ear.hears({ data: { id: runId, view: { status: 'succeeded', output: { text: 'done' } } } });
    const [listed] = await scene.get('/api/v1/runs?limit=1');
    expect(ended.data.view).toEqual(listed);
    await ear.hears({ event: 'agents', data: { view: { id_slug: worker.handle, latest_run_status: 'succeeded' } } });
    const texts = ear.heard.map(({ id }) => String(id));
    expect(texts.toSorted()).toEqual(texts);
  });

  it('joins what changes often: at most four events of an object a second, the last one as it is', async () => {
    const worker = await scene.worker();
    const runId = await scene.running(worker);
    const ear = await listening('runs');
    const before = performance.now();
    for (let turn = 0; turn < 60; turn += 1) {
      const usage = { total_tokens: turn + 1 };
      await worker.send(runId, [{ event_type: 'token.created', usage, payload: usage }]);
    }
    await ear.hears({ data: { id: runId, view: { usage: { total_tokens: 60 } } } });
    const seconds = (performance.now() - before) / 1_000;
    expect(ear.of('runs').filter(({ data }) => data.id === runId).length).toBeLessThanOrEqual(4 * seconds + 2);
  });

  it('carries a run’s own stream with its numbers beside the rest, and its end', async () => {
    const worker = await scene.worker();
    const runId = await scene.running(worker);
    const ear = await listening(`agents,run:${runId}`);
    const [reset] = ear.of(`run:${runId}`);
    expect(reset).toMatchObject({ event: 'run', data: { kind: 'reset', id: runId, seq: expect.any(Number) } });
    await worker.send(runId, [log('one'), log('two')]);
    await worker.complete(runId, { text: 'done' });
    await ear.hears({ data: { topic: `run:${runId}`, event: 'done' } });
    const told = ear.of(`run:${runId}`).slice(1);
    const own: StreamEvent[] = [];
    for await (const event of scene.rest.runStream(runId, { after: reset?.data.seq })) own.push(event);
    expect(told.map(({ data }) => [data.seq, data.event, data.view])).toEqual(
      own.map(({ id, event, data }) => [Number(id), event, data]),
    );
    expect(told.every(({ event, data }) => event === 'run' && data.kind === 'appended' && data.id === runId)).toBe(
      true,
    );
  });

  it('says which topics it does not have, and which may not be heard, and goes on with the others', async () => {
    const { json: made } = await scene.app.call('POST', '/api/v1/api-keys', {
      key: scene.key,
      body: { name: 'narrow', role_ids: ['role_viewer'], scopes: ['runs:read'] },
    });
    const worker = await scene.worker();
    const ear = await listening('schedules,agents,run:none,runs', { key: String(made.key) });
    await ear.hears({ event: 'error', data: { topic: 'schedules', code: 'topic.unknown' } });
    await ear.hears({ event: 'error', data: { topic: 'agents', code: 'access.denied' } });
    await ear.hears({ event: 'error', data: { topic: 'run:none', code: 'run.not_found' } });
    const runId = await scene.queue(worker);
    await ear.hears({ event: 'runs', data: { id: runId } });
    expect(ear.of('agents')).toHaveLength(1);
  });

  it('F-48: tells nothing of another account', async () => {
    const other = await scene.app.account();
    const worker = await scene.worker();
    const runId = await scene.running(worker);
    const ear = await listening(`runs,workers,agents,run:${runId}`, { key: other.key });
    await worker.complete(runId, {});
    const theirs = await startStub(scene.app, other.key, { handle: 'of-the-other' });
    const { json } = await scene.app.call('POST', '/api/v1/runs', {
      key: other.key,
      body: { agent_id: theirs.handle },
    });
    await ear.hears({ event: 'runs', data: { id: json.run_id } });
    expect(JSON.stringify(ear.heard)).not.toContain(worker.id);
    expect(ear.of(`run:${runId}`)).toMatchObject([{ event: 'error', data: { code: 'run.not_found' } }]);
  });

  it('tells of an agent that somebody changes, and of a worker that leaves', async () => {
    const worker = await scene.worker();
    const ear = await listening('agents,workers');
    await scene.app.call('POST', `/api/v1/agents/${worker.handle}/queue/pause`, { key: scene.key, body: {} });
    await ear.hears({ event: 'agents', data: { view: { id_slug: worker.handle, queue: { state: 'paused' } } } });
    await scene.app.database.query(
      `UPDATE worker SET last_seen_at = now() - interval '1 hour', channel_opened_at = NULL WHERE id = $1`,
      [worker.id],
    );
    await ear.hears({ event: 'workers', data: { id: worker.id, view: { state: 'offline' } } }, 15_000);
    await scene.app.call('DELETE', `/api/v1/workers/${worker.id}`, { key: scene.key });
    await ear.hears({ event: 'workers', data: { kind: 'removed', id: worker.id } }, 15_000);
  });

  it('tells of what somebody must allow', async () => {
    const worker = await scene.worker();
    const runId = await scene.running(worker);
    const ear = await listening('approvals');
    const question = {
      run_id: runId,
      tool_use_id: 't1',
      tool_name: 'Bash',
      rule_id: 'r1',
      arguments: {},
      window_seconds: 600,
    };
    await worker.frame('action_approval_requested', question);
    const asked = await ear.hears({ event: 'approvals', data: { view: { state: 'pending', tool_name: 'Bash' } } });
    const { id } = asked.data;
    await scene.app.call('POST', `/api/v1/approvals/${id}/decide`, { key: scene.key, body: { state: 'approved' } });
    await ear.hears({ event: 'approvals', data: { id, view: { state: 'approved' } } });
  });

  it('is silent while only signs of life come', async () => {
    const worker = await scene.worker();
    const ear = await listening('workers,agents');
    await worker.claim();
    await pause(6_000); // until it is told that it claims
    const before = ear.heard.length;
    for (let beat = 0; beat < 3; beat += 1) {
      await worker.claim();
      await pause(1_500);
    }
    expect(ear.heard.slice(before).filter(({ data }) => data.id === worker.id)).toEqual([]);
  });
});

describe('a reader that comes back', () => {
  it('F-36: hears what it has missed of lists and runs, and nothing of a run twice', async () => {
    const worker = await scene.worker();
    const runId = await scene.running(worker);
    const topics = `runs,run:${runId}`;
    const first = await listening(topics);
    await worker.send(runId, [log('before')]);
    await first.hears({ data: { topic: `run:${runId}`, view: { content: 'before' } } });
    const { lastId } = first;
    first.stop();
    await worker.send(runId, [log('meanwhile')]);
    await worker.complete(runId, { text: 'done' });
    const queued = await scene.queue(worker);
    const second = await listening(topics, { lastEventId: lastId });
    await second.hears({ data: { topic: `run:${runId}`, event: 'done' } });
    await second.hears({ event: 'runs', data: { kind: 'changed', id: runId, view: { status: 'succeeded' } } });
    await second.hears({ event: 'runs', data: { kind: 'changed', id: queued } });
    expect(second.heard.filter(({ data }) => data.kind === 'reset')).toEqual([]);
    const pieces = [...first.of(`run:${runId}`), ...second.of(`run:${runId}`)].map(({ data }) => data);
    const own: StreamEvent[] = [];
    for await (const event of scene.rest.runStream(runId, { after: pieces[0].seq })) own.push(event);
    expect(pieces.slice(1).map(({ seq, event }) => [seq, event])).toEqual(
      own.map(({ id, event }) => [Number(id), event]),
    );
  });

  it('after more than ten minutes is told to fetch everything again; with what no stream has told it is refused', async () => {
    const lastEventId = `${(Date.now() - 11 * 60_000).toString(36).padStart(9, '0')}00001`;
    const ear = await listening('runs,agents', { lastEventId });
    for (const topic of ['runs', 'agents']) await ear.hears({ event: topic, data: { topic, kind: 'reset' } });
    const headers = { 'last-event-id': 'nonsense' };
    const refused = await scene.app.call('GET', '/api/v1/stream?topics=runs', { key: scene.key, headers });
    expect(refused.status).toBe(422);
  });

  it('to whom nothing happened has a fresh place all the same', async () => {
    const response = await fetch(`${scene.app.url}/api/v1/stream?topics=approvals`, {
      headers: { authorization: `Bearer ${scene.key}` },
    });
    expect(Object.fromEntries(response.headers)).toMatchObject({
      ...{ 'content-type': 'text/event-stream; charset=utf-8', 'x-accel-buffering': 'no' },
      'cache-control': 'no-cache, no-transform',
    });
    let text = '';
    for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
      text += Buffer.from(chunk).toString();
      if ((text.match(/: keep-alive\nid: [0-9a-z]{14}\n\n/g) ?? []).length >= 2) break;
    }
  });
});

describe('readers of accounts', () => {
  it('may be so many to a principal, together with those of runs', async () => {
    const { key } = await scene.app.account();
    const open = await Promise.all(Array.from({ length: 5 }, () => listening('runs', { key })));
    const refused = await scene.app.call('GET', '/api/v1/stream?topics=runs', { key });
    expect(refused).toMatchObject({ status: 429, json: { code: 'stream.too_many' } });
    open[0]?.stop();
    await eventually(async () => {
      const ear = new Ear(scene.app.url, 'runs', { key });
      ears.push(ear);
      await ear.hears({ data: { kind: 'reset' } }, 1_000);
    });
  });

  it('name 1 to 50 topics', async () => {
    const status = async (topics: string) =>
      (await scene.app.call('GET', `/api/v1/stream?topics=${topics}`, { key: scene.key })).status;
    expect(await status('')).toBe(422);
    expect(await status(Array.from({ length: 51 }, (_, index) => `t${index}`).join(','))).toBe(422);
    const { status: none } = await scene.app.call('GET', '/api/v1/stream', { key: scene.key });
    expect(none).toBe(422);
  });

  it('lose a topic with a word about it when they may not hear it any more, and all with their key', async () => {
    const { json: made } = await scene.app.call('POST', '/api/v1/api-keys', {
      key: scene.key,
      body: { name: 'watcher', role_ids: ['role_viewer'] },
    });
    const ear = await listening('runs,agents', { key: String(made.key) });
    await scene.app.database.query(
      `DELETE FROM principal_role WHERE principal_id = (SELECT principal_id FROM api_key WHERE id = $1)`,
      [made.id ?? made.key_id],
    );
    await scene.app.database.query(`UPDATE credential_version SET version = version + 1`);
    await ear.hears({ event: 'error', data: { topic: 'runs', code: 'access.denied' } });
    await ear.hears({ event: 'error', data: { topic: 'agents', code: 'access.denied' } });
    await scene.app.call('DELETE', `/api/v1/api-keys/${made.key_id ?? made.id}`, { key: scene.key });
    await ear.hears({ event: 'error', data: { topic: null, code: 'auth.revoked' } });
    await ear.done;
  });
});
