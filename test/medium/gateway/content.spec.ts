import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { EvidenceRetentionSweep } from '../../../src/evidence/retention/retention.sweep.ts';
import { eventually } from '../../support/rest.ts';
import { startStub } from '../../support/stub-worker.ts';
import { ended, started } from '../evidence/scene.ts';
import { VaultScene } from '../vault/scene.ts';
import { Asking } from './asking.ts';

const SECRET = 'ev-S3cret/"ü" +& value';
const REDACTED = '***REDACTED***';

let asking: Asking;
beforeAll(async () => {
  asking = await Asking.open({ SIGNALBOX_SWEEP_SECONDS: '0.1' });
});
afterAll(() => asking.close());

describe('a secret that was handed out', () => {
  let scene: VaultScene;
  beforeAll(async () => {
    scene = new VaultScene(asking.scene.app, await asking.scene.app.account());
  });
  const get = async (path: string) => (await scene.call('GET', path)).text;

  it('D-41: is in no question that somebody decides, and the hash is still over what was proposed', async () => {
    const worker = await scene.worker('asks-with-secrets');
    await scene.give(worker, 'pass', SECRET);
    const { run_id: runId } = await scene.job(worker);
    await worker.start(runId);
    const proposed = { command: `login ${SECRET}`, [SECRET]: [SECRET] };
    const { approval_id: id } = await asking.ask(worker, runId, { arguments: proposed });
    for (const text of [await get(`/api/v1/approvals/${id}`), await get('/api/v1/approvals')]) {
      expect(text).toContain(`login ${REDACTED}`);
      expect(text).not.toContain('S3cret');
    }
    const other = { ...proposed, command: `login ${REDACTED}` };
    expect((await asking.ask(worker, runId, { arguments: other })).approval_id).not.toBe(id);
    expect((await asking.ask(worker, runId, { arguments: proposed })).approval_id).toBe(id);
    await worker.complete(runId, {});
  });

  it('D-41: is in no recording, and a replay that asks with it is answered all the same', async () => {
    const worker = await scene.worker('replays-secrets', {
      agent_card: {
        name: 'replays-secrets',
        use_cases: [{ slug: 'sample_run' }],
        capabilities: { replay: ['call_tool'] },
      },
    });
    await scene.give(worker, 'word', SECRET);
    const { run_id: golden } = await scene.job(worker);
    await worker.start(golden);
    const args = { header: `Bearer ${SECRET}` };
    await worker.send(golden, [
      started('call', { name: 'login', payload: { args } }),
      ended('call', { name: 'login', payload: { said: `welcome ${SECRET}` } }),
    ]);
    await worker.complete(golden, {});
    const recording = await get(`/api/v1/runs/${golden}/recording`);
    expect(JSON.parse(recording)).toMatchObject([{ masked: true, tool_response: { said: `welcome ${REDACTED}` } }]);
    expect(recording).not.toContain('S3cret');
    const { json } = await scene.call('POST', `/api/v1/runs/${golden}/replay`, {});
    await worker.claimSoon();
    await worker.start(json.run_id);
    const question = { golden_run_id: golden, run_id: json.run_id, tool_name: 'login', tool_input: args };
    expect((await worker.frame('replay_answer_request', question)).payload).toEqual({
      ...{ source: 'recording', matched_seq: 0, match: 'exact' },
      tool_response: { said: `welcome ${REDACTED}` },
    });
    await worker.complete(json.run_id, {});
  });
});

describe('an account that keeps no content', () => {
  it('shows what is proposed while somebody may decide, and keeps none of it afterwards', async () => {
    const { app } = asking.scene;
    const { key } = await app.account();
    await app.call('PATCH', '/api/v1/account/settings', { key, body: { content: 'metadata' } });
    const worker = await startStub(app, key, { handle: 'withheld' });
    const { json } = await app.call('POST', '/api/v1/runs', { key, body: { agent_id: 'withheld', input: {} } });
    await worker.claimSoon();
    await worker.start(json.run_id);
    const ask = async (toolUseId: string): Promise<string> =>
      (await asking.ask(worker, json.run_id, { tool_use_id: toolUseId })).approval_id;
    const [told, untold, open] = [await ask('told'), await ask('untold'), await ask('open')];
    const shown = async (id: string) => (await app.call('GET', `/api/v1/approvals/${id}`, { key })).json;
    expect((await shown(told)).arguments).toEqual({ command: 'rm -r /srv/old', force: true });
    for (const id of [told, untold]) await asking.decide(id, { state: 'approved' }, { key });
    await ask('told');
    expect(await shown(told)).toMatchObject({ state: 'approved', arguments: null });
    await worker.complete(json.run_id, {});
    for (const id of [told, untold, open]) await eventually(async () => expect((await shown(id)).arguments).toBeNull());
    expect((await shown(open)).state).toBe('withdrawn');
    const { status, json: refused } = await app.call('POST', `/api/v1/runs/${json.run_id}/replay`, { key, body: {} });
    expect({ status, code: refused.code }).toEqual({ status: 409, code: 'run.not_replayable' });
  });
});

it('U-43: questions go with their runs, when the account keeps those no longer', async () => {
  const { app } = asking.scene;
  const { key, accountId } = await app.account();
  const worker = await startStub(app, key, { handle: 'short-lived' });
  const ids: string[] = [];
  for (let number = 0; number < 2; number += 1) {
    const { json } = await app.call('POST', '/api/v1/runs', { key, body: { agent_id: 'short-lived', input: {} } });
    await worker.claimSoon();
    await worker.start(json.run_id);
    const { approval_id: id } = await asking.ask(worker, json.run_id);
    ids.push(id);
    await asking.decide(id, { state: 'denied' }, { key });
    await worker.complete(json.run_id, {});
    if (number > 0) continue;
    await app.database.query(
      `UPDATE run SET day = day - 30, created_at = created_at - interval '30 days' WHERE id = $1`,
      [json.run_id],
    );
    await app.database.query(`UPDATE approval SET asked_at = asked_at - interval '30 days' WHERE id = $1`, [id]);
  }
  await app.database.query(
    `INSERT INTO account_settings (account_id, version, updated_by, runs_days) VALUES ($1, 1, 'test', 20)`,
    [accountId],
  );
  await app.nest.get(EvidenceRetentionSweep).run();
  const { json } = await app.call('GET', '/api/v1/approvals', { key });
  expect(json.map(({ approval_id: id }: { approval_id: string }) => id)).toEqual([ids[1]]);
});
