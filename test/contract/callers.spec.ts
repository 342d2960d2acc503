import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Sample } from '../support/samples/sample.ts';
import { FRAMES_OPERATION, exchange, newToken, requestOf, type Answer } from './exchange.ts';
import { Stage, isForWorkers, isMutation, isOpen, rightfulKey, samplesWhere, successOf } from './stage.ts';
import type { Agent } from './tenant.ts';

let stage: Stage;
let roleless: string;
let homeAgent: Agent;
let foreignAgent: Agent;
/** Of a run that goes on. */
let runToken: string;

beforeAll(async () => {
  stage = await Stage.open();
  roleless = (await stage.home.serviceKey([])).key;
  homeAgent = await stage.home.agent();
  foreignAgent = await stage.foreign.agent();
  await stage.home.run(homeAgent);
  runToken = (await stage.home.frame(homeAgent, 'run_claim', {})).job.secrets.AGENTOPS_MCP_TOKEN;
});
afterAll(() => stage.app.stop());

describe.each(samplesWhere((op) => !isOpen(op)))('%s', (_id, sampled) => {
  const { op } = sampled;
  const nowhere: Sample = {
    path: { run_id: 'run_none', agent_id: 'none', worker_id: 'none', key_id: 'none', artifact_id: 'none' },
    body: op.input.body ? {} : undefined,
  };

  test('K-61: without a credential it is a JSON 401, whatever the caller accepts', async () => {
    for (const accept of ['application/json', 'text/event-stream', 'text/html,application/xhtml+xml,*/*;q=0.8']) {
      const answer = await exchange(stage.app.url, { ...requestOf(op, nowhere, undefined), headers: { accept } });
      expect({ accept, status: answer.status, code: answer.json.code }).toEqual({
        accept,
        status: 401,
        code: 'auth.missing',
      });
    }
  });

  test('a credential that nobody has is auth.invalid, whatever its form', async () => {
    const { key } = stage.home;
    for (const wrong of [
      'x',
      `${key}x`,
      key.slice(0, -1),
      key.toUpperCase(),
      'sk_'.padEnd(60, '0'),
      `wt_${newToken(32)}`,
      'x'.repeat(8_000),
    ]) {
      const { status, json } = await exchange(stage.app.url, requestOf(op, nowhere, wrong));
      expect({ wrong: wrong === key, status, code: json.code }).toEqual({
        wrong: false,
        status: 401,
        code: 'auth.invalid',
      });
    }
    const asBasic = { authorization: `Basic ${Buffer.from(`:${key}`).toString('base64')}` };
    const { status } = await exchange(stage.app.url, { ...requestOf(op, nowhere, undefined), headers: asBasic });
    expect(status).toBe(401);
  });

  test('A10: the token of a run that goes on opens nothing here', async () => {
    expect(runToken).toMatch(/^srt_/);
    const { status, json } = await exchange(stage.app.url, requestOf(op, nowhere, runToken));
    expect({ status, code: json.code }).toEqual({ status: 401, code: 'auth.invalid' });
  });

  test('U-37: a credential in the query string opens nothing', async () => {
    const secret = isForWorkers(op) ? homeAgent.token : stage.home.key;
    for (const name of ['token', 'api_key', 'access_token', 'key', 'authorization']) {
      const asked = requestOf(op, nowhere, undefined);
      const { status, json } = await exchange(stage.app.url, { ...asked, path: `${asked.path}?${name}=${secret}` });
      expect({ name, status, code: json.code }).toEqual({ name, status: 401, code: 'auth.missing' });
    }
  });

  test('K-60: identity headers open nothing, and change nothing of who the credential says', async () => {
    const asOwner = identityHeaders(stage.home.accountId, stage.home.ownerId, homeAgent);
    const anonymous = await exchange(stage.app.url, { ...requestOf(op, nowhere, undefined), headers: asOwner });
    expect(anonymous.status).toBe(401);
    const sample = await sampled.make(stage.home);
    const asStranger = identityHeaders(stage.foreign.accountId, stage.foreign.ownerId, foreignAgent);
    const answer = await exchange(stage.app.url, {
      ...requestOf(op, sample, rightfulKey(op, sample, stage.home)),
      headers: asStranger,
    });
    expect(answer.status).toBe(successOf(op, sample));
    expect(answer.text).not.toContain(foreignAgent.id);
    const rows = await stage.rowsOf(answer);
    expect(rows.filter(({ account_id }) => account_id !== stage.home.accountId)).toEqual([]);
    expect(rows.map(({ actor_id }) => actor_id)).not.toContain(stage.foreign.ownerId);
    if (typeof op.capability !== 'string') return;
    const refused = await exchange(stage.app.url, { ...requestOf(op, sample, roleless), headers: asOwner });
    expect([403, 404]).toContain(refused.status);
  });
});

describe.each(samplesWhere(({ capability }) => typeof capability === 'string'))('K-63: %s', (_id, sampled) => {
  const { op } = sampled;

  test('refuses a principal without the capability by name, or hides the object as if it were missing', async () => {
    const sample = await sampled.make(stage.home);
    const answer = await stage.call(sampled, sample, roleless);
    assertRefused(answer, String(op.capability));
    const narrowed = await stage.home.ask('POST', '/api/v1/api-keys', {
      name: 'Narrow',
      role_ids: ['role_admin'],
      scopes: ['nothings:read'],
    });
    assertRefused(await stage.call(sampled, sample, narrowed.key), String(op.capability));
  });

  test('does not open for a worker token', async () => {
    const sample = await sampled.make(stage.home);
    const answer = await stage.call(sampled, sample, homeAgent.token);
    if (op.operatorsOnly)
      expect({ status: answer.status, code: answer.json?.code }).toEqual({ status: 403, code: 'access.denied' });
    else expect([403, 404]).toContain(answer.status);
  });
});

describe.each(samplesWhere((op) => typeof op.capability === 'string' && isMutation(op)))('%s', (_id, sampled) => {
  test('K-63: does not open for a viewer', async () => {
    const viewer = await stage.home.serviceKey(['role_viewer']);
    assertRefused(await stage.call(sampled, await sampled.make(stage.home), viewer.key), String(sampled.op.capability));
  });
});

describe.each(samplesWhere(isForWorkers))('%s', (_id, sampled) => {
  test('opens for worker tokens only, not even for the owner', async () => {
    const { status, json } = await stage.call(sampled, await sampled.make(stage.home), stage.home.key);
    expect({ status, code: json.code }).toEqual({ status: 403, code: 'access.denied' });
  });
});

test('the frames endpoint opens for worker tokens only, whatever the frame', async () => {
  const { status, json } = await stage.home.call('POST', '/api/v1/workers/wrk_any/frames', {
    json: { id: 'm-1', type: 'no_such_frame', payload: {}, needsReply: true },
  });
  expect({ operation: FRAMES_OPERATION, status, code: json.code }).toEqual({
    operation: FRAMES_OPERATION,
    status: 403,
    code: 'access.denied',
  });
});

function assertRefused({ status, json }: Answer, capability: string): void {
  if (status === 404) return;
  expect({ status, code: json?.code, detail: json?.detail }).toEqual({
    status: 403,
    code: 'access.denied',
    detail: expect.stringContaining(capability),
  });
}

/** What proxies and other products take for an identity. */
function identityHeaders(accountId: string, principalId: string, agent: Agent): Record<string, string> {
  return {
    'x-agent-id': agent.handle,
    'x-agentops-agent-id': agent.id,
    'x-worker-id': agent.workerId,
    'x-account-id': accountId,
    'x-tenant-id': accountId,
    'x-org-id': accountId,
    'x-user': principalId,
    'x-user-id': principalId,
    'x-principal-id': principalId,
    'x-forwarded-user': principalId,
    'x-auth-request-user': principalId,
    'x-remote-user': principalId,
    'remote-user': principalId,
    'x-run-id': 'run_any',
  };
}
