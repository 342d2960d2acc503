import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Json } from '../../support/app.ts';
import type { StubWorker } from '../../support/stub-worker.ts';
import { Scene, ended, started } from './scene.ts';

let scene: Scene;
let worker: StubWorker;
beforeAll(async () => {
  scene = await Scene.open();
  worker = await scene.worker();
});
afterAll(() => scene.close());

const tree = (runId: string, query = ''): Promise<Json> => scene.get(`/api/v1/runs/${runId}/tree${query}`);
/** `[id, relation, children]`, with `…` where something is left out. */
function shape({ run, relation, children, truncated }: Json): Json {
  return [run.run_id, relation + (truncated ? ' …' : ''), ...(children.length > 0 ? [children.map(shape)] : [])];
}
const child = async (parent: string): Promise<string> => {
  const runId = await scene.queue(worker);
  await scene.app.database.query('UPDATE run SET parent_run_id = $2 WHERE id = $1', [runId, parent]);
  return runId;
};

describe('the tree of a run', () => {
  it('of one that is alone is that one', async () => {
    const runId = await scene.queue(worker);
    const answer = await tree(runId);
    expect(shape(answer)).toEqual([runId, 'root']);
    expect(answer.run).toMatchObject({ run_id: runId, status: 'queued', agent_id: expect.any(String) });
  });

  it('is the same from whichever run it is asked for', async () => {
    const root = await scene.queue(worker);
    const [first, second] = [await child(root), await child(root)];
    const below = await child(first);
    const expected = [
      root,
      'root',
      [
        [first, 'delegation', [[below, 'delegation']]],
        [second, 'delegation'],
      ],
    ];
    for (const runId of [root, first, second, below]) expect(shape(await tree(runId))).toEqual(expected);
  });

  it('holds what a span says it has called, though the called one knows nothing of it', async () => {
    const caller = await scene.worker();
    const runId = await scene.running(caller);
    const called = await scene.queue(worker);
    await caller.send(runId, [
      started('call'),
      ended('call', { payload: { child_run_id: called }, child_run_id: called }),
    ]);
    const expected = [runId, 'root', [[called, 'delegation']]];
    expect(shape(await tree(runId))).toEqual(expected);
    expect(shape(await tree(called))).toEqual(expected);
  });

  it('holds the sessions that went on from it', async () => {
    const own = await scene.worker();
    const runId = await scene.running(own);
    await own.complete(runId, {}, { snapshot: { turn: 1 } });
    const { json } = await scene.app.call('POST', `/api/v1/runs/${runId}/revive`, { key: scene.key });
    expect(shape(await tree(json.run_id))).toEqual([runId, 'root', [[json.run_id, 'revival']]]);
  });

  it('ends at its depth, upwards and downwards, and says where', async () => {
    const line = [await scene.queue(worker)];
    for (let level = 0; level < 5; level += 1) line.push(await child(line.at(-1) ?? ''));
    const [, second, third, fourth, fifth] = line;
    expect(shape(await tree(third ?? '', '?depth=1'))).toEqual([
      second,
      'root',
      [[third, 'delegation', [[fourth, 'delegation …']]]],
    ]);
    expect(shape(await tree(third ?? '', '?depth=2'))).toMatchObject([
      line[0],
      'root',
      [[second, 'delegation', [[third, 'delegation', [[fourth, 'delegation', [[fifth, 'delegation …']]]]]]]],
    ]);
  });

  it('is bounded in width, keeps the run that was asked for, and says that it is cut', async () => {
    const root = await scene.queue(worker);
    const last = await child(root);
    await scene.app.database.query(
      `INSERT INTO run (account_id, id, day, agent_id, origin_kind, created_by_kind, created_by, request_id, event_id, thread_id, input, input_bytes, parent_run_id, created_at)
       SELECT account_id, 'wide_' || n, day, agent_id, 'rest', 'user', 'u', 'r', 'e' || n, 'wide_' || n, '{}', 2, id, created_at - interval '1 hour' FROM run, generate_series(1, 2000) AS n WHERE id = $1`,
      [root],
    );
    const answer = await tree(last);
    expect(answer.children).toHaveLength(499);
    expect(answer.truncated).toBe(true);
    expect(answer.children.some(({ run }: Json) => run.run_id === last)).toBe(true);
  });

  it('ends where runs go round in a circle', async () => {
    const first = await scene.queue(worker);
    const second = await child(first);
    await scene.app.database.query('UPDATE run SET parent_run_id = $2 WHERE id = $1', [first, second]);
    expect(shape(await tree(first))).toEqual([second, 'root', [[first, 'delegation']]]);
  });

  it('never reaches into another account', async () => {
    const stranger = await scene.app.account();
    const root = await scene.queue(worker);
    const foreign = await child(root);
    await scene.app.database.query('UPDATE run SET account_id = $2 WHERE id = $1', [foreign, stranger.accountId]);
    expect(shape(await tree(root))).toEqual([root, 'root']);
    const answer = await scene.app.call('GET', `/api/v1/runs/${foreign}/tree`, { key: stranger.key });
    expect(shape(answer.json)).toEqual([foreign, 'root']);
    expect((await scene.app.call('GET', `/api/v1/runs/${root}/tree`, { key: stranger.key })).status).toBe(404);
  });

  it.each(['0', '11', 'x'])('has no depth of %s', async (depth) => {
    const { status, json } = await scene.app.call('GET', `/api/v1/runs/any/tree?depth=${depth}`, { key: scene.key });
    expect({ status, loc: json.detail[0].loc }).toEqual({ status: 422, loc: ['query', 'depth'] });
  });
});
