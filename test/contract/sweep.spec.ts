import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { z } from 'zod';
import { auditOf, type Operation } from '../../src/platform/operation/operation.ts';
import { isSchema, schemaOf } from '../../src/platform/operation/output.ts';
import { SAMPLES } from '../support/samples.ts';
import { CONTRACT, DocumentJudge, isInContract, operationsOf } from './documents.ts';
import { FRAMES_OPERATION, exchange, newToken, requestOf, type Answer } from './exchange.ts';
import { Stage, isForWorkers, isMutation, isOpen, rightfulKey, sampledOf, samplesWhere, successOf } from './stage.ts';
import { manifestOf } from './tenant.ts';

let stage: Stage;
let servedJudge: DocumentJudge;
const contractJudge = new DocumentJudge(CONTRACT);
const called = new Set<string>();

beforeAll(async () => {
  stage = await Stage.open();
  servedJudge = new DocumentJudge(await stage.document());
});
afterAll(() => stage.app.stop());

test('every operation has one sample, and every sample an operation', () => {
  expect([...SAMPLES.keys()].sort()).toEqual(stage.operations.map(({ id }) => id).sort());
});

describe.each(samplesWhere(() => true))('%s', (_id, sampled) => {
  const { op } = sampled;

  test('succeeds for its rightful caller, answers what both documents promise, and leaves the rows that it declares', async () => {
    const sample = await sampled.make(stage.home);
    const asked = requestOf(op, sample, rightfulKey(op, sample, stage.home));
    const answer = await exchange(stage.app.url, asked);
    expect({ status: answer.status, text: answer.text.slice(0, 2_000) }).toEqual({
      status: successOf(op, sample),
      text: expect.anything(),
    });
    called.add(op.frame ? FRAMES_OPERATION : op.id);
    if (op.http) assertPromised(op, answer);
    else if (answer.status === 200) assertReply(op, asked.body as string, answer);
    const isDeclared = auditOf(op) !== undefined || sample.leavesRow === true;
    const rows = await stage.rowsOf(answer);
    const row = {
      account_id: stage.home.accountId,
      operation: op.id,
      outcome: answer.status < 400 ? 'done' : 'failed',
      ...(auditOf(op) ? { action: auditOf(op)?.action } : {}),
    };
    expect(rows).toEqual(isDeclared ? [expect.objectContaining(row)] : []);
  });
});

/** Every valid key may ask for a session; a service account's is told 400 that it gets none. */
const OPEN_TO_ALL_KEYS = ['identity.exchange_key'];

describe.each(samplesWhere((op) => auditOf(op) !== undefined && isMutation(op) && !OPEN_TO_ALL_KEYS.includes(op.id)))(
  'K-75: %s',
  (_id, sampled) => {
    const { op } = sampled;

    test('leaves one row when it is refused for who calls, and one when it is refused for what was sent', async () => {
      const sample = await sampled.make(stage.home);
      const { key: stranger, principalId } = await stage.home.serviceKey([]);
      const refused = await stage.call(sampled, sample, stranger);
      expect(refused.status).toBe(403);
      expect(await stage.rowsOf(refused)).toEqual([
        expect.objectContaining({
          account_id: stage.home.accountId,
          operation: op.id,
          outcome: 'refused',
          actor_id: principalId,
          detail: expect.objectContaining({ code: 'access.denied' }),
        }),
      ]);
      if (!op.input.body || op.frame) return; // what is no frame belongs to no operation
      const unreadable = await exchange(stage.app.url, {
        ...requestOf(op, sample, rightfulKey(op, sample, stage.home)),
        body: '{"half": ',
      });
      expect(unreadable.status).toBe(422);
      expect(await stage.rowsOf(unreadable)).toEqual([
        expect.objectContaining({
          account_id: stage.home.accountId,
          operation: op.id,
          outcome: 'refused',
          detail: expect.objectContaining({ code: 'input.invalid' }),
        }),
      ]);
    });
  },
);

test('a mutation of what does not exist leaves one row that says so', async () => {
  const answer = await stage.home.call('POST', '/api/v1/runs/run_none/cancel', { json: {} });
  expect(answer.status).toBe(404);
  expect(await stage.rowsOf(answer)).toEqual([
    expect.objectContaining({
      operation: 'runs.cancel',
      outcome: 'failed',
      detail: expect.objectContaining({ code: 'run.not_found' }),
    }),
  ]);
});

test('a registration leaves a row when it changes something, none when it says the same again, and one when it is refused', async () => {
  const [agent, other] = [await stage.home.agent(), await stage.home.agent()];
  const register = (handle: string): Promise<Answer> =>
    stage.home.call('POST', `/api/v1/workers/${agent.workerId}/frames`, {
      key: agent.token,
      json: { id: `m-${newToken()}`, type: 'register', needsReply: true, payload: manifestOf(handle) },
    });
  expect(await stage.rowsOf(await register(agent.handle))).toEqual([]);
  const refused = await register(other.handle);
  expect({ status: refused.status, code: refused.json.code }).toEqual({ status: 403, code: 'worker.wrong_agent' });
  expect(await stage.rowsOf(refused)).toEqual([
    expect.objectContaining({
      account_id: stage.home.accountId,
      operation: 'workers.register',
      outcome: 'refused',
      actor_id: agent.id,
    }),
  ]);
});

test('an invoke with stream=true is an event stream from its first byte', async () => {
  const sampled = sampledOf('entry.invoke');
  const answer = await stage.call(sampled, { ...(await sampled.make(stage.home)), query: { stream: true } });
  expect({ status: answer.status, type: answer.type }).toEqual({
    status: 200,
    type: expect.stringMatching(/^text\/event-stream/),
  });
  assertPromised(sampled.op, answer);
});

test('what is no operation is a JSON 404, with or without a credential', async () => {
  for (const [method, path] of [
    ['GET', '/api/v1/nothing'],
    ['GET', '/api/v1/runs/'],
    ['PUT', '/api/v1/runs'],
    ['DELETE', '/api/v1/audit'],
    ['PATCH', '/api/v1/audit/aud_any'],
    ['POST', '/api/v1/agents/any/invoke/again'],
    ['GET', '/api/v1/workers/wrk_any/frames'],
    ['GET', '/API/V1/RUNS'],
  ] as const) {
    for (const key of [stage.home.key, undefined]) {
      const { status, json } = await exchange(stage.app.url, { method, path, key });
      expect({ method, path, status, code: json?.code }).toEqual({
        method,
        path,
        status: 404,
        code: 'route.not_found',
      });
    }
  }
});

test('K-71: nothing that is served can change or remove a row of the audit trail', () => {
  const touching = stage.operations.filter(({ http }) => http && /audit/.test(http.path) && http.method !== 'GET');
  expect(touching).toEqual([]);
});

test('U-34: a page of another origin may neither ask nor read', async () => {
  const headers = {
    origin: 'https://elsewhere.test',
    'access-control-request-method': 'POST',
    'access-control-request-headers': 'authorization',
  };
  const preflight = await exchange(stage.app.url, { method: 'OPTIONS', path: '/api/v1/runs', headers });
  const read = await exchange(stage.app.url, {
    method: 'GET',
    path: '/api/v1/runs',
    key: stage.home.key,
    headers: { origin: 'https://elsewhere.test' },
  });
  for (const answer of [preflight, read]) {
    expect([...answer.headers.keys()].filter((name) => name.startsWith('access-control-'))).toEqual([]);
  }
});

test('no operation is in the served document that was not called here', async () => {
  const described = [...operationsOf(await stage.document()).values()].map(({ operationId }) => operationId);
  expect([...called].sort()).toEqual(described.sort());
});

test('an operation says who may call it: everybody, a credential, or a worker token only', async () => {
  const document = await stage.document();
  for (const op of stage.operations.filter(({ http }) => http)) {
    const { security } = operationsOf(document).get(`${op.http?.method} ${op.http?.path}`) as {
      readonly security?: readonly object[];
    };
    const schemes = security?.flatMap((alternative) => Object.keys(alternative));
    const known = op.sessionsOnly ? ['sessionCookie'] : expect.arrayContaining(['apiKey']);
    const expected = isOpen(op) ? [] : isForWorkers(op) ? ['workerToken'] : known;
    expect({ id: op.id, schemes }).toEqual({ id: op.id, schemes: expected });
  }
});

/** A body, or none, as the contract and the served document say. */
function assertPromised(op: Operation, answer: Answer): void {
  const key = `${op.http?.method} ${op.http?.path}`;
  const { status, type, text, json, headers } = answer;
  if (type.startsWith('text/event-stream')) {
    expect(headers.get('cache-control')).toContain('no-transform');
    expect(headers.get('x-accel-buffering')).toBe('no');
    return;
  }
  if (status === 302) {
    expect({ type, text, to: headers.get('location') }).toEqual({
      type: '',
      text: '',
      to: expect.stringMatching(/^(\/|http)/),
    });
    return;
  }
  if (status === 204) {
    expect({ type, text }).toEqual({ type: '', text: '' });
    return;
  }
  if (!isSchema(op.output) && op.output.produces === 'html') {
    expect(type).toMatch(/^text\/html/);
    return;
  }
  if (!isSchema(op.output) && op.output.produces === 'file') {
    expect(headers.get('content-disposition')).toMatch(/^attachment;/);
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    return;
  }
  expect(type).toMatch(/^application\/json/);
  expect(problemsBy(servedJudge, key, answer)).toEqual([]);
  if (isInContract(key) && status < 400) expect(problemsBy(contractJudge, key, answer)).toEqual([]);
  if (Array.isArray(json)) expect(headers.get('x-server-time')).toMatch(/^\d{4}-\d\d-\d\dT[\d:]+\.\d{3}Z$/);
}

function problemsBy(judge: DocumentJudge, key: string, { status, json }: Answer): readonly string[] {
  const judged = judge.ofAnswer(key, status)?.(json);
  return judged ?? [`${key} promises no JSON with ${status}`];
}

/** The frame that answers: worker-protocol.md §3. */
function assertReply(op: Operation, asked: string, { json }: Answer): void {
  const { id } = JSON.parse(asked) as { readonly id: string };
  expect(json).toEqual({
    id: expect.any(String),
    type: op.frame?.reply,
    correlationId: id,
    payload: expect.any(Object),
  });
  const payload = schemaOf(op.output);
  expect(payload && z.safeParse(payload, json.payload).error).toBeUndefined();
}
