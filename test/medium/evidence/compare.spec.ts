import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Json } from '../../support/app.ts';
import { startStub } from '../../support/stub-worker.ts';
import { Scene, ended, log, started } from './scene.ts';

let scene: Scene;
beforeAll(async () => {
  scene = await Scene.open();
});
afterAll(() => scene.close());

const call = (left: string, right: string) =>
  scene.app.call('GET', `/api/v1/runs/${left}/compare?with=${right}`, { key: scene.key });
const compare = async (left: string, right: string): Promise<Json> => (await call(left, right)).json;

/** A tool call and what came of it, under ids of its own. */
let ids = 0;
function tool(name: string, args: object, result: unknown): object[] {
  const id = `tool_${(ids += 1)}`;
  return [started(id, { name, payload: { args } }), ended(id, { name, payload: { result } })];
}

async function finished(events: readonly object[], output: object = { text: 'done' }): Promise<string> {
  const worker = await scene.worker();
  const runId = await scene.running(worker);
  await worker.send(runId, events);
  await worker.complete(runId, output);
  return runId;
}

describe('two runs that did the same', () => {
  it('are the same, whatever their ids, times and usage, and whatever else they said', async () => {
    const usage = (total: number) => ({ payload: { call_usage: { model: 'm', total_tokens: total } } });
    const left = await finished([
      started('root', { kind: 'agent', name: 'plan' }),
      ...tool('lookup', { q: 'life' }, 42),
      started('ask', { kind: 'llm', name: 'turn' }),
      ended('ask', { kind: 'llm', name: 'turn', ...usage(10) }),
    ]);
    const right = await finished([
      log('one more line'),
      ...tool('lookup', { q: 'life' }, 42),
      started('ask2', { kind: 'llm', name: 'turn' }),
      ended('ask2', { kind: 'llm', name: 'turn', ...usage(20) }),
    ]);
    expect(await compare(left, right)).toMatchObject({
      ...{ left, right, same: true, diverges_at: null, output_diff: [] },
      steps: [
        { index: 0, same: true, left: { name: 'lookup', kind: 'tool' }, right: { name: 'lookup' } },
        { index: 1, same: true, left: { name: 'turn', total_tokens: 10 }, right: { total_tokens: 20 } },
      ],
      usage: { left: { total_tokens: 10 }, right: { total_tokens: 20 } },
    });
    expect(await compare(left, left)).toMatchObject({ same: true });
  });
});

describe('two runs that went apart', () => {
  it('name the first place where they did, all steps, and what came out', async () => {
    const left = await finished([...tool('a', {}, 1), ...tool('b', { n: [1, 2] }, 'x')], { text: 'left', n: 1 });
    const right = await finished([...tool('a', {}, 1), ...tool('b', { n: [1, 3] }, 'y'), ...tool('c', {}, 0)], {
      ...{ text: 'right', n: 1 },
    });
    const { same, steps, diverges_at, output_diff } = await compare(left, right);
    expect(same).toBe(false);
    expect(diverges_at).toEqual({ index: 1, path: 'input.n[1]', left: 2, right: 3 });
    expect(steps.map((step: Json) => [step.left?.name, step.right?.name, step.same])).toEqual([
      ['a', 'a', true],
      ['b', 'b', false],
      [undefined, 'c', false],
    ]);
    expect(output_diff).toEqual([{ path: 'text', before: 'left', after: 'right' }]);
  });

  it('F-41: in what was too large for an event, too', async () => {
    const large = (last: string): string => 'x'.repeat(100_000) + last;
    const left = await finished(tool('dump', {}, large('a')));
    expect(await compare(left, await finished(tool('dump', {}, large('a'))))).toMatchObject({ same: true });
    expect(await compare(left, await finished(tool('dump', {}, large('b'))))).toMatchObject({
      same: false,
      diverges_at: { index: 0, path: 'whole["payload.result"].sha256' },
    });
  });

  it('are listed to a thousand steps, and a longer one is never the same', async () => {
    const steps = Array.from({ length: 1_050 }, (_, index) => tool('step', { index }, index)).flat();
    const [whole, short] = [await finished(steps), await finished(steps.slice(0, 2_000))];
    const answer = await compare(whole, short);
    expect([answer.steps.length, answer.same, answer.diverges_at]).toEqual([1_000, false, null]);
    expect(answer.steps.every(({ same }: Json) => same)).toBe(true);
  });
});

describe('a comparison', () => {
  it('waits for the end of both runs', async () => {
    const left = await finished([]);
    const going = await scene.running(await scene.worker());
    for (const [one, other] of [
      [left, going],
      [going, left],
    ] as const)
      // prettier-ignore
      expect((await call(one, other)).json).toMatchObject({ code: 'run.not_finished' });
    expect((await call(left, going)).status).toBe(409);
  });

  it('F-48: with a run of another account is that with a missing one', async () => {
    const mine = await finished([]);
    const other = await scene.app.account();
    await startStub(scene.app, other.key, { handle: 'theirs' });
    const body = { agent_id: 'theirs', input: {} };
    const { json: run } = await scene.app.call('POST', '/api/v1/runs', { key: other.key, body });
    await scene.app.call('POST', `/api/v1/runs/${run.run_id}/cancel`, { key: other.key });
    const crossed = async (left: string, right: string) => {
      const path = `/api/v1/runs/${left}/compare?with=${right}`;
      const { status, json } = await scene.app.call('GET', path, { key: other.key });
      return { status, ...json, request_id: null };
    };
    const missing = await crossed(run.run_id, 'run_none');
    expect(missing).toMatchObject({ status: 404, code: 'run.not_found' });
    expect(await crossed(run.run_id, mine)).toEqual(missing);
    expect(await crossed(mine, run.run_id)).toEqual(missing);
    expect(await crossed(run.run_id, run.run_id)).toMatchObject({ status: 200, same: true });
    expect((await call(mine, '')).status).toBe(422);
  });
});
