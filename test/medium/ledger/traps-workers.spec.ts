import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../../support/rest.ts';
import { startStub, type StubWorker } from '../../support/stub-worker.ts';
import { Scene } from '../evidence/scene.ts';
import { manifestOf, register } from '../workers/wire.ts';

/** The product's waits at a tenth. */
const TENTH = {
  SIGNALBOX_SWEEP_SECONDS: '0.2',
  SIGNALBOX_PRESENCE_WINDOW_SECONDS: '9',
  SIGNALBOX_CLOSED_OFFER_SECONDS: '0.6',
  SIGNALBOX_CLOSED_LOST_SECONDS: '1.5',
};

let scene: Scene;
beforeAll(async () => {
  scene = await Scene.open({ env: TENTH });
});
afterAll(() => scene.close());

const beside = (worker: StubWorker): Promise<StubWorker> =>
  startStub(scene.app, scene.key, { handle: worker.handle, token: worker.token });
/** As the worker's `frame`, with headers of the test's own. */
const withHeaders = (worker: StubWorker, type: string, headers: Readonly<Record<string, string>>) =>
  scene.app.call('POST', `/api/v1/workers/${worker.id}/frames`, {
    ...{ key: worker.token, headers },
    body: { id: 'msg_1', type, needsReply: true, payload: {} },
  });

describe('worker-protocol §23.9: a worker that goes away', () => {
  it('and has taken a run that it does not start, leaves it to another one', async () => {
    const worker = await scene.worker();
    await worker.open();
    const runId = await scene.queue(worker);
    expect(await worker.claimSoon()).toMatchObject({ run_id: runId, attempt: 1 });
    worker.close(); // its exit is not announced
    const other = await beside(worker);
    expect(await other.claimSoon()).toMatchObject({ run_id: runId, attempt: 2 });
  });

  it('and says so is given nothing more, and may finish what it holds', async () => {
    const worker = await scene.worker();
    const held = await scene.running(worker);
    const waiting = await scene.queue(worker);
    expect((await worker.frame('run_claim', { draining: true, holds: [held] })).payload.job ?? null).toBeNull();
    expect((await worker.complete(held, {})).payload).toMatchObject({ accepted: true });
    expect(await worker.claim()).toBeFalsy();
    expect(await (await beside(worker)).claimSoon()).toMatchObject({ run_id: waiting });
  });
});

describe('worker-protocol §23.10: a worker that is killed', () => {
  it('leaves no run running: it fails as lost soon after, and the next process is given the next one', async () => {
    const worker = await scene.worker();
    await worker.open();
    const runId = await scene.running(worker);
    worker.close(); // the kernel closes what a killed process had open
    await eventually(async () =>
      expect(await scene.run(runId)).toMatchObject({ status: 'failed', error: expect.stringMatching(/^worker_lost/) }),
    );
    const next = await scene.queue(worker);
    expect(await (await beside(worker)).claimSoon()).toMatchObject({ run_id: next });
  });
});

describe('worker-protocol §23.13: secrets', () => {
  const store = (body: object) => scene.app.call('POST', '/api/v1/credentials', { key: scene.key, body });

  it('are never empty: such a value is not stored, and an empty part is not handed out', async () => {
    const worker = await scene.worker();
    const empty = await store({ name: 'empty', value: '' });
    expect(empty).toMatchObject({ status: 422, json: { code: 'input.invalid', detail: [{ loc: ['body', 'value'] }] } });
    const parts = await store({ name: 'parts', value: '{"user":"somebody","pass":""}' });
    expect(parts.status).toBe(201);
    const bound = await scene.app.call('POST', `/api/v1/credentials/${parts.json.id}/bindings`, {
      ...{ key: scene.key, body: { agent_id: worker.handle } },
    });
    expect(bound.status).toBe(201);
    await scene.queue(worker);
    expect((await worker.claimSoon()).secrets).toMatchObject({ parts: { user: 'somebody' } });
  });
});

describe('worker-protocol §23.14 and §23.16: identity in headers', () => {
  it('gives a worker no other agent’s work: its token decides', async () => {
    const [worker, victim] = [await scene.worker(), await scene.worker()];
    const [own, theirs] = [await scene.queue(worker), await scene.queue(victim)];
    const { agent_id } = await scene.get(`/api/v1/agents/${victim.handle}`);
    for (const name of [victim.handle, agent_id]) {
      const { status, json } = await withHeaders(worker, 'run_claim', { 'x-agent-id': name, 'x-worker-id': victim.id });
      expect(status).toBe(200);
      expect([own, undefined]).toContain(json.payload.job?.run_id);
    }
    expect(await victim.claimSoon()).toMatchObject({ run_id: theirs, attempt: 1 });
  });

  it('a run id in the headers of a frame changes nothing, whose ever it is', async () => {
    const [worker, other] = [await scene.worker(), await scene.worker()];
    const runId = await scene.running(other);
    const before = await scene.kept(runId);
    for (const named of [runId, 'run_unknown', '', 'x'.repeat(500)]) {
      const { status, json } = await withHeaders(worker, 'run_claim', { 'x-run-id': named });
      expect({ status, type: json.type }).toEqual({ status: 200, type: 'run_assignment' });
    }
    expect(await scene.kept(runId)).toEqual(before);
  });
});

describe('worker-protocol §23.19: a worker that speaks frames', () => {
  it('is never dialled, though its manifest names an address', async () => {
    const worker = await scene.worker();
    await register(worker, manifestOf(worker.handle, { endpoint_url: 'http://127.0.0.1:9' }));
    const { dialect, delivery } = await scene.get(`/api/v1/workers/${worker.id}`);
    expect(dialect).toBe('0.3');
    expect(delivery).not.toContain('direct');
  });
});

describe('worker-protocol §23.22: the closed lists of a configuration', () => {
  const rule = { id: 'r', name: 'R', outcome: 'ask', criteria: [{ tool_patterns: ['Bash'] }], window_seconds: 700 };
  const governed = (more: object) => ({ action_rules: { rules: [{ ...rule, ...more }] } });
  const compared = (op: string) =>
    governed({ criteria: [{ tool_patterns: ['Bash'], arg_conditions: [{ arg: 'a', op, value: 'b' }] }] });
  const put = (worker: StubWorker, body: object) =>
    scene.app.call('PUT', `/api/v1/agents/${worker.handle}/worker-config`, { key: scene.key, body });

  it.each([
    ['an op', { ops: [{ type: 'prompt_shout', text: 'x' }] }, 'type'],
    ['an outcome', governed({ outcome: 'maybe' }), 'outcome'],
    ['a default outcome', { action_rules: { rules: [rule], default_outcome: 'perhaps' } }, 'default_outcome'],
    ['an operator', compared('resembles'), 'op'],
  ])(
    'are closed at the entry: %s that no worker knows is refused, and no worker is handed it',
    async (_, body, field) => {
      const worker = await scene.worker();
      const { status, json } = await put(worker, body);
      expect({ status, code: json.code, field: json.detail[0].loc.at(-1) }).toEqual({
        ...{ status: 422, code: 'input.invalid', field },
      });
      expect((await worker.frame('config_request')).payload.config.action_rules_version ?? '').toBe('');
    },
  );

  it('let everything through that a worker knows', async () => {
    const worker = await scene.worker();
    expect((await put(worker, governed({}))).status).toBe(200);
    expect((await worker.frame('config_request')).payload.config.action_rules_version).toEqual(
      expect.stringMatching(/./),
    );
  });
});

describe('worker-protocol §23.25: what a worker cannot say', () => {
  it('leaves no run open: whoever asks for the next run while it holds one has lost that one', async () => {
    const worker = await scene.worker();
    const runId = await scene.running(worker); // its report was tried three times and dropped
    const next = await scene.queue(worker);
    expect(await worker.claimSoon()).toMatchObject({ run_id: next });
    expect(await scene.run(runId)).toMatchObject({ status: 'failed', error: expect.stringMatching(/^worker_lost/) });
  });

  it('but another client can, half a character, is kept and marked', async () => {
    const worker = await scene.worker();
    const runId = await scene.running(worker);
    const { status } = await worker.send(runId, [{ event_type: 'log.created', content: 'half \ud800 of it' }]);
    expect([200, 202]).toContain(status);
    await eventually(async () => expect(JSON.stringify(await scene.events(runId))).toContain('half \ufffd of it'));
  });
});
