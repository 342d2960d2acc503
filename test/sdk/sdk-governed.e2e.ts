import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Json } from '../support/app.ts';
import { describeSdk, type Sdk } from '../support/python.ts';
import { eventually, present } from '../support/rest.ts';
import { endWorkers, type WorkerProcess } from '../support/worker-process.ts';
import { handleFor, World } from './world.ts';

/** The first release that is known to know rules, approvals and replays is 0.3.25; this one is what is tried. */
const VERSIONS = ['0.4.13'];
const RULES = {
  rules: [
    { id: 'shell', name: 'Shell', outcome: 'ask', criteria: [{ tool_patterns: ['Shell'] }], window_seconds: 600 },
  ],
};

let world: World;
beforeAll(async () => {
  world = await World.open();
}, 90_000);
afterAll(() => world.close(), 60_000);

await describeSdk(
  'what rules and recordings decide',
  (sdk) => {
    afterAll(endWorkers);
    describe('approvals', () => approvals(sdk));
    describe('replays', () => replays(sdk));
    describe('configuration', () => configuration(sdk));
  },
  VERSIONS,
);

const configure = (handle: string, body: object): Promise<Json> =>
  world.rest.ask('PUT', `/api/v1/agents/${handle}/worker-config`, { body });

/** What a run asks somebody to allow. */
const question = (runId: string): Promise<Json> =>
  eventually(async () =>
    present(
      (await world.rest.ask<Json[]>('GET', '/api/v1/approvals', { query: { run_id: runId, state: 'pending' } }))[0],
    ),
  );

const decide = (id: string, body: object): Promise<Json> =>
  world.rest.ask('POST', `/api/v1/approvals/${id}/decide`, { body });

function approvals(sdk: Sdk): void {
  const handle = handleFor(sdk, 'approvals');
  beforeAll(async () => {
    await world.worker(sdk, handle, { script: 'governed.py' });
  }, 90_000);

  const notes = (runId: string): string[] => world.notes().filter((line) => line === `deleted ${runId}`);

  it('D-29: rules that were set take effect in the next run, without a restart', async () => {
    expect((await world.invoke(handle, { mode: 'delete' })).output).toEqual({ text: 'nobody asks' });
    expect(await configure(handle, { action_rules: RULES })).toMatchObject({ restarts_workers: false });
  });

  it('D-29 D-30: nothing is done until somebody allows it, and then it is done once', async () => {
    const { run_id: runId } = await world.createRun(handle, { mode: 'delete' });
    const asked = await question(runId);
    expect(asked).toMatchObject({
      ...{ tool_name: 'Shell', arguments: { command: 'rm -r /srv/old' }, rule: { id: 'shell', name: 'Shell' } },
      asked_by: 'Governed',
    });
    expect(await world.rest.ask('GET', `/api/v1/runs/${runId}/explain`)).toMatchObject({
      reason: { code: 'waiting.approval', detail: { approval_id: asked.approval_id } },
    });
    expect(notes(runId)).toEqual([]);
    await decide(asked.approval_id, { state: 'approved', arguments_hash: asked.arguments_hash });
    expect(await world.ended(runId)).toMatchObject({ status: 'succeeded', output: { text: 'deleted' } });
    expect(notes(runId)).toHaveLength(1);
  });

  it('D-30: what somebody refuses is not done, and the agent is told why', async () => {
    const { run_id: runId } = await world.createRun(handle, { mode: 'delete' });
    await decide((await question(runId)).approval_id, { state: 'denied', comment: 'not on a Friday' });
    const { output } = await world.ended(runId);
    expect(output).toEqual({ text: 'refused', reason: expect.stringContaining('not on a Friday') });
    expect(notes(runId)).toEqual([]);
  });

  it('a run that is cancelled while it waits leaves nothing to decide', async () => {
    const { run_id: runId } = await world.createRun(handle, { mode: 'delete' });
    const { approval_id: id } = await question(runId);
    await world.cancel(runId);
    const { status, body } = await world.rest.call<Json>('POST', `/api/v1/approvals/${id}/decide`, {
      body: { state: 'approved' },
    });
    expect({ status, code: body.code }).toEqual({ status: 409, code: 'approval.expired' });
    expect(await world.rest.ask('GET', `/api/v1/approvals/${id}`)).toMatchObject({ state: 'withdrawn' });
    expect(notes(runId)).toEqual([]);
  });

  it('a run that may not act asks nobody', async () => {
    const { output } = await world.invoke(handle, { mode: 'delete', act: false });
    expect(output).toMatchObject({ text: 'refused' });
  });
}

function replays(sdk: Sdk): void {
  const handle = handleFor(sdk, 'replays');
  let golden: string;
  beforeAll(async () => {
    await world.worker(sdk, handle, { script: 'governed.py' });
    golden = (await world.invoke(handle, { mode: 'look' })).run_id;
  }, 90_000);

  const OUTPUT = {
    first: { hits: ['life'], answer: 'first' },
    second: { hits: ['life'], answer: 'second' },
    weather: 'rain',
  };
  const looks = (runId: string): string[] => world.notes().filter((line) => line === `looked ${runId}`);

  const replay = async (body: object): Promise<Json> => {
    const { run_id: runId } = await world.rest.ask<Json>('POST', `/api/v1/runs/${golden}/replay`, { body });
    return world.ended(runId);
  };

  it('a replayed run has the answers that were recorded, and does nothing for real', async () => {
    expect(looks(golden)).toHaveLength(3);
    const run = await replay({});
    expect(run).toMatchObject({ status: 'succeeded', output: OUTPUT });
    expect(run.run_id).toMatch(/^run_replay_/);
    expect(looks(run.run_id)).toEqual([]);
    const spans = await world.rest.ask<Json[]>('GET', `/api/v1/runs/${run.run_id}/spans`, { query: { kind: 'tool' } });
    const answered = await Promise.all(
      spans.map(({ span_id: id }) => world.rest.ask<Json>('GET', `/api/v1/runs/${run.run_id}/spans/${id}`)),
    );
    expect(answered.map(({ name, replay: by }) => [name, by.source, by.matched_seq])).toEqual([
      ['lookup', 'recording', 0],
      ['lookup', 'recording', 1],
      ['weather', 'recording', 2],
    ]);
  });

  it('what the recording lacks is refused, and not done for real either', async () => {
    const run = await replay({ input: { mode: 'look', city: 'Rome' } });
    expect(run.status).toBe('succeeded');
    expect(run.output).toMatchObject({ first: OUTPUT.first });
    expect(run.output.weather).not.toBe('rain');
    expect(looks(run.run_id)).toEqual([]);
  });
}

function configuration(sdk: Sdk): void {
  const handle = handleFor(sdk, 'configured');
  let worker: WorkerProcess;
  beforeAll(async () => {
    worker = await world.worker(sdk, handle, { script: 'governed.py' });
  }, 90_000);

  it('worker-protocol §23.7: a new version ends an idle worker once; its successor runs it and stays', async () => {
    await eventually(async () => {
      const sql = `SELECT config -> 'handed' AS handed FROM worker WHERE id = $1`;
      const [row] = await world.server.query<Json>(sql, [worker.id]);
      expect(row?.handed).toBeTruthy(); // one that still asks for its first would get the new version at once, and stay
    });
    const { version } = await configure(handle, { ops: [{ type: 'prompt_append', text: 'Be brief.' }] });
    await eventually(() => expect(worker.isRunning).toBe(false), { within: 40_000 });
    const next = await world.worker(sdk, handle, { script: 'governed.py' });
    await eventually(async () => {
      const { workers } = await world.rest.ask<Json>('GET', `/api/v1/agents/${handle}/worker-config`);
      const own = workers.find(({ worker_id: id }: Json) => id === next.id);
      expect(own).toMatchObject({ applied_version: version, unsupported_ops: [] });
    });
    expect((await world.invoke(handle, { mode: 'look' })).status).toBe('succeeded');
    expect((await world.invoke(handle, { mode: 'look' })).status).toBe('succeeded');
    expect(next.isRunning).toBe(true);
  }, 90_000);
}
