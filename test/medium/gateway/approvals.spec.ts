import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Json } from '../../support/app.ts';
import { eventually } from '../../support/rest.ts';
import { startStub, type StubWorker } from '../../support/stub-worker.ts';
import { Asking } from './asking.ts';

let asking: Asking;
let worker: StubWorker;
beforeAll(async () => {
  asking = await Asking.open({ SIGNALBOX_SWEEP_SECONDS: '60' }); // what is read is right without a sweep
  worker = await asking.scene.worker('asks');
});
afterAll(() => asking.close());

/** A started run, over when the test is. */
async function withRun(body: (runId: string) => Promise<void>): Promise<void> {
  const runId = await asking.scene.running(worker);
  try {
    await body(runId);
  } finally {
    await worker.complete(runId, { text: 'done' });
  }
}

const seconds = (later: string, earlier: string): number => (Date.parse(later) - Date.parse(earlier)) / 1_000;

describe('a question', () => {
  it('D-30: is a row with who asks, for what, by which rule and until when; the run waits for it', () =>
    withRun(async (runId) => {
      const { approval_id: id, state, expires_at } = await asking.ask(worker, runId);
      expect({ id, state }).toEqual({ id: expect.stringMatching(/^apr_[0-9a-z]{26}$/), state: 'pending' });
      const view = await asking.show(id);
      const { agent_id } = await asking.scene.run(runId);
      expect(view).toEqual({
        ...{ approval_id: id, kind: 'action', state: 'pending', run_id: runId, agent_id, worker_id: worker.id },
        ...{ attempt: 1, workflow_id: null, instance_id: null, step_id: null, tool_use_id: 'toolu_1' },
        ...{ tool_name: 'Bash', rule: { id: 'rule_1', name: 'Shell' }, asked_by: 'Claude' },
        arguments: { command: 'rm -r /srv/old', force: true },
        arguments_hash: expect.stringMatching(/^[0-9a-f]{64}$/),
        asked_at: expect.any(String),
        expires_at,
        ...{ decided_at: null, decided_by: null, decided_via: null, comment: null, delivered_at: null },
      });
      expect(seconds(view.expires_at, view.asked_at)).toBe(600);
      expect((await asking.scene.run(runId)).waiting).toEqual({ kind: 'approval', since: view.asked_at });
      const explanation = await asking.scene.get(`/api/v1/runs/${runId}/explain`);
      expect(explanation.reason).toMatchObject({
        code: 'waiting.approval',
        since: view.asked_at,
        detail: { approval_id: id, tool_name: 'Bash' },
        until_changed_by: [{ kind: 'approval' }, { kind: 'time', at: view.expires_at }],
      });
      expect(explanation.also).toMatchObject([{ code: 'executing' }]);
      const rows = await asking.scene.get('/api/v1/audit?action=approval.request');
      expect(rows[0]).toMatchObject({ action: 'approval.request' });
    }));

  it('U-53: asked again is the same one; with other arguments, another tool or another id it is another one', () =>
    withRun(async (runId) => {
      const first = await asking.ask(worker, runId);
      expect(await asking.ask(worker, runId, { rule_name: 'Renamed', window_seconds: 300 })).toEqual(first);
      expect(await asking.ask(worker, runId, { arguments: { force: true, command: 'rm -r /srv/old' } })).toEqual(first);
      const others = [{ arguments: { command: 'rm -r /' } }, { tool_name: 'Shell' }, { tool_use_id: 'toolu_2' }];
      const ids = new Set([first.approval_id]);
      for (const other of others) ids.add((await asking.ask(worker, runId, other)).approval_id);
      expect(ids.size).toBe(4);
      expect((await asking.list(`run_id=${runId}`)).length).toBe(4);
    }));

  it('U-53: asked by many at once is one', () =>
    withRun(async (runId) => {
      const answers = await Promise.all(Array.from({ length: 8 }, () => asking.ask(worker, runId)));
      expect(new Set(answers.map(({ approval_id }) => approval_id)).size).toBe(1);
      expect(await asking.list(`run_id=${runId}`)).toHaveLength(1);
    }));

  it('without a window of its own stays open for an hour', () =>
    withRun(async (runId) => {
      const { approval_id: id } = await asking.ask(worker, runId, { window_seconds: undefined });
      const view = await asking.show(id);
      expect(seconds(view.expires_at, view.asked_at)).toBe(3_600);
    }));

  it('of a run whose input says that it may not act is declined, and stands in no register', async () => {
    const runId = await asking.scene.queue(worker, { act: false });
    await worker.claimSoon();
    await worker.start(runId);
    expect(await asking.ask(worker, runId)).toEqual({
      approval_id: '',
      state: 'declined_act_off',
      reason: expect.any(String),
    });
    expect(await asking.list(`run_id=${runId}`)).toEqual([]);
    await worker.complete(runId, {});
  });

  it('of a worker that does not hold the run is withdrawn, of another agent it is no run', () =>
    withRun(async (runId) => {
      const colleague = await startStub(asking.scene.app, asking.scene.key, {
        handle: worker.handle,
        token: worker.token,
      });
      expect(await asking.ask(colleague, runId)).toMatchObject({ approval_id: '', state: 'withdrawn' });
      const stranger = await asking.scene.worker();
      const { status, payload } = await asking.frame(stranger, runId);
      expect({ status, code: payload.code }).toEqual({ status: 404, code: 'run.not_found' });
      expect((await asking.frame(worker, 'run_none')).status).toBe(404);
      expect(await asking.list(`run_id=${runId}`)).toEqual([]);
    }));

  it.each<[string, object, string]>([
    ['no tool use', { tool_use_id: '' }, 'tool_use_id'],
    ['a window that is too short', { window_seconds: 299 }, 'window_seconds'],
    ['a window that is too long', { window_seconds: 43_201 }, 'window_seconds'],
    ['a window that is no number', { window_seconds: '600' }, 'window_seconds'],
    ['arguments that are a list', { arguments: ['rm'] }, 'arguments'],
    ['no tool', { tool_name: undefined }, 'tool_name'],
    ['a name with NUL', { tool_name: 'Ba\0sh' }, 'tool_name'],
    ['a rule name that is too long', { rule_name: 'r'.repeat(501) }, 'rule_name'],
  ])('with %s is refused, naming the field', (_what, more, field) =>
    withRun(async (runId) => {
      const { status, payload } = await asking.frame(worker, runId, more);
      expect(status).toBe(422);
      expect(payload.detail.map(({ loc }: Json) => loc.at(-1))).toContain(field);
      expect(await asking.list(`run_id=${runId}`)).toEqual([]);
    }),
  );
});

describe('a decision', () => {
  it.each(['approved', 'denied'])('D-30, U-53: %s is made once, by somebody, and on record', (state) =>
    withRun(async (runId) => {
      const { approval_id: id } = await asking.ask(worker, runId);
      const { arguments_hash } = await asking.show(id);
      const { status, json } = await asking.decide(id, { state, comment: 'as agreed', arguments_hash });
      expect(status).toBe(200);
      expect(json).toMatchObject({
        ...{ approval_id: id, state, comment: 'as agreed', decided_via: 'inbox' },
        decided_by: { principal_id: expect.stringMatching(/^prn_/), label: expect.stringMatching(/^owner@/) },
        decided_at: expect.any(String),
      });
      expect(await asking.show(id)).toEqual(json);
      for (const again of ['approved', 'denied']) {
        const second = await asking.decide(id, { state: again });
        expect({ status: second.status, code: second.json.code }).toEqual({ status: 409, code: 'approval.decided' });
      }
      expect(await asking.ask(worker, runId)).toMatchObject({ approval_id: id, state, reason: 'as agreed' });
      expect((await asking.show(id)).delivered_at).not.toBeNull();
      expect((await asking.scene.run(runId)).waiting).toBeNull();
      expect((await asking.scene.get(`/api/v1/runs/${runId}/explain`)).reason.code).toBe('executing');
      const rows = await asking.scene.app.database.query<Json>(
        `SELECT outcome, detail FROM audit_entry WHERE action = 'approval.decide' AND target_id = $1 ORDER BY at, id`,
        [id],
      );
      expect(rows.map(({ outcome }) => outcome)).toEqual(['done', 'failed', 'failed']);
      expect(rows[0].detail).toMatchObject({ state, comment: 'as agreed', run_id: runId, tool_name: 'Bash' });
    }),
  );

  it('U-53: of two at once one wins, and the other is told', () =>
    withRun(async (runId) => {
      const { approval_id: id } = await asking.ask(worker, runId);
      const states = ['approved', 'denied', 'approved', 'denied', 'approved'];
      const answers = await Promise.all(states.map((state) => asking.decide(id, { state })));
      const [won, ...others] = answers.filter(({ status }) => status === 200);
      expect(others).toEqual([]);
      expect(answers.filter(({ json }) => json.code === 'approval.decided')).toHaveLength(4);
      expect((await asking.show(id)).state).toBe(won?.json.state);
    }));

  it('U-53: repeated under its idempotency key is answered as before, under another key it is refused', () =>
    withRun(async (runId) => {
      const { approval_id: id } = await asking.ask(worker, runId);
      const call = (key: string, state = 'approved') =>
        asking.decide(id, { state }, { headers: { 'idempotency-key': key } });
      const first = await call('once');
      const again = await call('once');
      expect([first.status, again.status]).toEqual([200, 200]);
      expect(again.json).toEqual(first.json);
      expect((await call('once', 'denied')).json.code).toBe('idempotency.conflict');
      expect((await call('twice')).json.code).toBe('approval.decided');
    }));

  it('U-53: about other arguments than were seen is no decision', () =>
    withRun(async (runId) => {
      const { approval_id: id } = await asking.ask(worker, runId);
      const { status, json } = await asking.decide(id, { state: 'approved', arguments_hash: 'ab'.repeat(32) });
      expect({ status, code: json.code }).toEqual({ status: 409, code: 'approval.changed' });
      expect((await asking.show(id)).state).toBe('pending');
    }));

  it('U-53: is nothing that a worker makes', () =>
    withRun(async (runId) => {
      const { approval_id: id } = await asking.ask(worker, runId);
      expect((await asking.decide(id, { state: 'approved' }, { key: worker.token })).status).toBe(403);
      expect((await asking.show(id)).state).toBe('pending');
    }));

  it('U-53: that comes too late is refused, with or without a sweep', () =>
    withRun(async (runId) => {
      const { approval_id: id } = await asking.ask(worker, runId);
      await asking.expire(id);
      const { status, json } = await asking.decide(id, { state: 'approved' });
      expect({ status, code: json.code }).toEqual({ status: 409, code: 'approval.expired' });
      expect((await asking.show(id)).state).toBe('expired');
      expect(await asking.ask(worker, runId)).toMatchObject({ approval_id: id, state: 'expired' });
      expect((await asking.scene.run(runId)).waiting).toBeNull();
      expect((await asking.row(id)).state).toBe('pending'); // no sweep has been by
    }));

  it('after the end of the run is refused: the question is withdrawn', async () => {
    const runId = await asking.scene.running(worker);
    const { approval_id: id } = await asking.ask(worker, runId);
    await worker.complete(runId, { text: 'went on without it' });
    expect((await asking.show(id)).state).toBe('withdrawn');
    expect((await asking.decide(id, { state: 'approved' })).json.code).toBe('approval.expired');
    expect(await asking.ask(worker, runId)).toMatchObject({ approval_id: '', state: 'withdrawn' });
  });

  it('about an attempt that is over is refused, and the next attempt asks anew', async () => {
    await asking.scene.app.call('PUT', `/api/v1/agents/${worker.handle}/policy`, {
      key: asking.scene.key,
      body: { retry: { on: ['failed'], max_attempts: 3, backoff_seconds: 0 } },
    });
    const runId = await asking.scene.running(worker);
    const first = await asking.ask(worker, runId);
    await asking.decide(first.approval_id, { state: 'approved' });
    await worker.fail(runId, 'it broke');
    await worker.claimSoon();
    await worker.start(runId);
    const second = await asking.ask(worker, runId);
    expect(second.state).toBe('pending');
    await worker.fail(runId, 'it broke again');
    expect((await asking.show(second.approval_id)).state).toBe('withdrawn');
    expect((await asking.decide(second.approval_id, { state: 'approved' })).json.code).toBe('approval.expired');
    await asking.scene.app.call('POST', `/api/v1/runs/${runId}/cancel`, { key: asking.scene.key });
  });

  it.each<[object, string]>([
    [{ state: 'maybe' }, 'state'],
    [{}, 'state'],
    [{ state: 'approved', comment: 'c'.repeat(2_001) }, 'comment'],
    [{ state: 'approved', comment: 'a\0b' }, 'comment'],
    [{ state: 'approved', arguments_hash: 7 }, 'arguments_hash'],
  ])('%j is none', async (body, field) => {
    const { status, json } = await asking.decide('apr_none', body);
    expect(status).toBe(422);
    expect(json.detail[0].loc).toEqual(['body', field]);
  });
});

describe('the inbox', () => {
  it('shows what is asked by run, agent, kind and state, newest first, page by page', async () => {
    const other = await asking.scene.worker();
    const runId = await asking.scene.running(other);
    const ids: string[] = [];
    for (let number = 0; number < 5; number += 1)
      ids.unshift((await asking.ask(other, runId, { tool_use_id: `toolu_${number}` })).approval_id);
    await asking.decide(ids[4] ?? '', { state: 'denied' });
    await asking.expire(ids[3] ?? '');
    const found = async (query: string) =>
      (await asking.list(`agent_id=${other.handle}&${query}`)).map(({ approval_id }: Json) => approval_id);
    expect(await found('')).toEqual(ids);
    expect(await found('state=pending')).toEqual(ids.slice(0, 3));
    expect(await found('state=expired')).toEqual([ids[3]]);
    expect(await found('state=denied')).toEqual([ids[4]]);
    expect(await found('kind=workflow_step')).toEqual([]);
    expect(await found(`run_id=${runId}&kind=action`)).toEqual(ids);
    const page = await asking.scene.app.call('GET', `/api/v1/approvals?run_id=${runId}&limit=2`, {
      key: asking.scene.key,
    });
    const cursor = page.headers.get('x-next-cursor');
    expect(await found(`run_id=${runId}&limit=2&cursor=${cursor}`)).toEqual(ids.slice(2, 4));
    expect(await asking.list('agent_id=nobody')).toEqual([]);
    await other.complete(runId, {});
    expect(await found('state=withdrawn')).toEqual(ids.slice(0, 3));
  });

  it('leaves long arguments out of the list, and shows them with the question', () =>
    withRun(async (runId) => {
      const long = { text: 'x'.repeat(70_000) };
      const { approval_id: id } = await asking.ask(worker, runId, { arguments: long });
      expect((await asking.list(`run_id=${runId}`))[0]).toMatchObject({ arguments: null, arguments_truncated: true });
      const view = await asking.show(id);
      expect(view.arguments).toEqual(long);
      expect(view).not.toHaveProperty('arguments_truncated');
    }));

  it.each(['state=open', 'kind=tool', 'limit=0', 'limit=501', 'cursor=none'])('refuses %s', async (query) => {
    const { status } = await asking.scene.app.call('GET', `/api/v1/approvals?${query}`, { key: asking.scene.key });
    expect(status).toBe(422);
  });

  it('U-53: is of one account', async () => {
    const runId = await asking.scene.running(worker);
    const { approval_id: id } = await asking.ask(worker, runId);
    const foreign = await asking.scene.app.account();
    const options = { key: foreign.key };
    expect((await asking.scene.app.call('GET', `/api/v1/approvals/${id}`, options)).status).toBe(404);
    expect((await asking.scene.app.call('GET', '/api/v1/approvals', options)).json).toEqual([]);
    expect((await asking.decide(id, { state: 'approved' }, options)).json.code).toBe('approval.not_found');
    await worker.complete(runId, {});
  });
});

it('what is over is written down by a sweep, and what nobody waits for is settled', async () => {
  const swept = await Asking.open({ SIGNALBOX_SWEEP_SECONDS: '0.1' });
  try {
    const other = await swept.scene.worker();
    const runId = await swept.scene.running(other);
    const [late, open, decided] = await Promise.all(
      ['late', 'open', 'decided'].map(async (id) => (await swept.ask(other, runId, { tool_use_id: id })).approval_id),
    );
    await swept.expire(late);
    await swept.decide(decided, { state: 'approved' });
    await eventually(async () => expect((await swept.row(late)).state).toBe('expired'));
    await other.complete(runId, {});
    await eventually(async () => expect((await swept.row(open)).state).toBe('withdrawn'));
    await eventually(async () => expect((await swept.row(decided)).settled_at).not.toBeNull());
    expect((await swept.row(decided)).state).toBe('approved');
  } finally {
    await swept.close();
  }
});
