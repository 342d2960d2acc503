import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { RunTokens } from '../../../src/identity/index.ts';
import { startApp, type Json, type RunningApp } from '../../support/app.ts';
import { startStub, type StubWorker } from '../../support/stub-worker.ts';

let app: RunningApp;
let account: Awaited<ReturnType<RunningApp['account']>>;
let worker: StubWorker;
let handles = 0;

beforeAll(async () => {
  app = await startApp();
  account = await app.account();
});
beforeEach(async () => {
  worker = await startStub(app, account.key, { handle: `tokens-${(handles += 1)}` });
});
afterAll(() => app.stop());

const prove = (token: string) => app.nest.get(RunTokens).prove(token);
const tokenOf = (job: Json): string => job.secrets.AGENTOPS_MCP_TOKEN;

async function claimed(): Promise<Json> {
  await app.call('POST', '/api/v1/runs', { key: account.key, body: { agent_id: worker.handle } });
  return (await worker.frame('run_claim')).payload.job;
}

describe('A10: a run token', () => {
  it('proves its run, attempt, agent and worker while the run goes on, and nothing once it has ended', async () => {
    const job = await claimed();
    const proven = {
      accountId: account.accountId,
      runId: job.run_id,
      agentId: job.agent_id,
      attempt: 1,
      workerId: worker.id,
    };
    expect(await prove(tokenOf(job))).toEqual(proven);
    await worker.frame('run_started', { run_id: job.run_id });
    expect(await prove(tokenOf(job))).toEqual(proven);
    await worker.frame('run_completed', { run_id: job.run_id, output: {} });
    expect(await prove(tokenOf(job))).toBeUndefined();
  });

  it.each(['cancelled', 'failed'])('is dead with a run that was %s', async (how) => {
    const job = await claimed();
    if (how === 'failed') await worker.frame('run_failed', { run_id: job.run_id, error: 'x' });
    else await app.call('POST', `/api/v1/runs/${job.run_id}/cancel`, { key: account.key });
    expect(await prove(tokenOf(job))).toBeUndefined();
  });

  it('is of one attempt: the one before proves nothing when the run was claimed again', async () => {
    const first = await claimed();
    const second = (await worker.frame('run_claim')).payload.job;
    expect([second.run_id, second.attempt]).toEqual([first.run_id, 2]);
    expect(await prove(tokenOf(first))).toBeUndefined();
    expect(await prove(tokenOf(second))).toMatchObject({ runId: first.run_id, attempt: 2 });
  });

  it('is dead with its account', async () => {
    const job = await claimed();
    await app.database.query(`UPDATE account SET status = 'suspended' WHERE id = $1`, [account.accountId]);
    expect(await prove(tokenOf(job))).toBeUndefined();
    await app.database.query(`UPDATE account SET status = 'active' WHERE id = $1`, [account.accountId]);
    expect(await prove(tokenOf(job))).toBeDefined();
  });

  it('cannot be made of another, nor of anything else', async () => {
    const token = tokenOf(await claimed());
    const [body = '', mac = ''] = token.slice('srt_'.length).split('.');
    const said = JSON.parse(Buffer.from(body, 'base64url').toString());
    const forged = (change: (said: Json[]) => void): string => {
      const copy = structuredClone(said);
      change(copy);
      return `srt_${Buffer.from(JSON.stringify(copy)).toString('base64url')}.${mac}`;
    };
    for (const text of [
      forged((parts) => (parts[4] = 2)),
      forged((parts) => (parts[2] = 'run_other')),
      forged((parts) => (parts[0] = 'nobody')),
      token.slice(0, -1),
      `${token}A`,
      `srt_${body}`,
      worker.token,
      account.key,
      '',
    ])
      expect([text, await prove(text)]).toEqual([text, undefined]);
  });
});
