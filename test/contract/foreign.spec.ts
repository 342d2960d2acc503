import { randomInt } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Sample } from '../support/samples/sample.ts';
import { exchange, newToken, requestOf, type Answer } from './exchange.ts';
import { Stage, isForWorkers, isOpen, rightfulKey, samplesWhere, successOf } from './stage.ts';
import type { Agent } from './tenant.ts';

/** Its run is named by the caller, so another account’s is another run. */
const OWN_NAMES = 'dispatch.start_direct';

let stage: Stage;
let otherAgent: Agent;
let foreignAgent: Agent;

beforeAll(async () => {
  stage = await Stage.open();
  otherAgent = await stage.home.agent();
  foreignAgent = await stage.foreign.agent();
  await stage.home.recordedRun(otherAgent);
});
afterAll(() => stage.app.stop());

describe.each(samplesWhere((op) => !isOpen(op)))('K-64: %s', (_id, sampled) => {
  const { op } = sampled;

  test('answers for another account’s object what it answers for a missing one, and leaves it alone', async () => {
    const sample = await sampled.make(stage.home);
    const key = isForWorkers(op) ? foreignAgent.token : stage.foreign.key;
    const forTheirs = await exchange(stage.app.url, requestOf(op, sample, key));
    assertSilent(forTheirs, sample);
    const missing = renamed(sample, stage.home.names);
    if (textOf(missing) !== textOf(sample)) {
      const forMissing = await exchange(stage.app.url, requestOf(op, missing, key));
      expect(masked(forTheirs, sample)).toEqual(masked(forMissing, missing));
      if (op.id !== OWN_NAMES && op.faults.some(({ kind }) => kind === 'not_found')) expect(forTheirs.status).toBe(404);
    }
    const unharmed = await exchange(stage.app.url, requestOf(op, sample, rightfulKey(op, sample, stage.home)));
    expect({ status: unharmed.status, text: unharmed.text.slice(0, 500) }).toEqual({
      status: successOf(op, sample),
      text: expect.anything(),
    });
  });
});

describe.each(samplesWhere((op) => isForWorkers(op) && (namesRun(op.input) || op.frame?.type === 'run_events')))(
  'D-5: %s',
  (_id, sampled) => {
    const { op } = sampled;

    test('answers for a run of another agent what it answers for a missing one, from a worker that is registered', async () => {
      for (const { agent, account } of [
        { agent: otherAgent, account: 'the same' },
        { agent: foreignAgent, account: 'another' },
      ]) {
        const sample = await sampled.make(stage.home);
        const theirs = sentBy(agent, sample);
        const missing = renamed(theirs, stage.home.names, [agent.workerId]);
        const [forTheirs, forMissing] = [
          masked(await exchange(stage.app.url, requestOf(op, theirs, agent.token)), theirs),
          masked(await exchange(stage.app.url, requestOf(op, missing, agent.token)), missing),
        ];
        expect({ account, ...forTheirs }).toEqual({ account, ...forMissing });
      }
    });
  },
);

test('D-5: what another agent’s worker says about a run is not found, and nothing of it is kept', async () => {
  const agent = await stage.home.agent();
  const runId = await stage.home.startedRun(agent);
  const reports = [
    {
      type: 'run_events',
      payload: { events: [{ event_type: 'log.created', content: 'from elsewhere' }] },
      stream: runId,
      seq: 0,
    },
    { type: 'run_completed', payload: { run_id: runId, output: { text: 'from elsewhere' } }, needsReply: true },
    { type: 'run_failed', payload: { run_id: runId, error: 'from elsewhere' }, needsReply: true },
  ];
  for (const { token, workerId } of [otherAgent, foreignAgent]) {
    for (const report of reports) {
      const { status, json } = await stage.home.call('POST', `/api/v1/workers/${workerId}/frames`, {
        key: token,
        json: { id: `m-${newToken()}`, ...report },
      });
      expect({ type: report.type, status, code: json?.code }).toEqual({
        type: report.type,
        status: 404,
        code: 'run.not_found',
      });
    }
  }
  expect(await stage.home.ask('GET', `/api/v1/runs/${runId}`)).toMatchObject({
    status: 'running',
    output: null,
    error: null,
    log_events: [],
  });
});

function namesRun({ path, body }: { readonly path?: unknown; readonly body?: unknown }): boolean {
  const shapes = [path, body].map((schema) => (schema as { readonly shape?: object } | undefined)?.shape ?? {});
  return shapes.some((shape) => 'run_id' in shape);
}

/** The same about the run, but from a worker that this agent really has. */
function sentBy({ workerId }: Agent, sample: Sample): Sample {
  const { path, body } = sample;
  const own = <Part extends object | undefined>(part: Part): Part =>
    part && 'worker_id' in part ? { ...part, worker_id: workerId } : part;
  return { ...sample, ...(path ? { path: own(path) } : {}), body: own(body as object | undefined) };
}

/** The sample with every known name replaced by one of the same form that nobody has. */
function renamed(sample: Sample, names: ReadonlySet<string>, kept: readonly string[] = []): Sample {
  const replaced = [...names]
    .filter((name) => !kept.includes(name))
    .reduce((text, name) => text.replaceAll(name, unusedLike(name)), textOf(sample));
  return JSON.parse(replaced) as Sample;
}

function textOf({ path, query, body, envelope }: Sample): string {
  return JSON.stringify({ path, query, body, envelope });
}

function unusedLike(name: string): string {
  return name.slice(0, -8) + Array.from({ length: 8 }, () => randomInt(16).toString(16)).join('');
}

const NEW_ID = /\b((acct|prn|usr|key|wtk|aud|agent|run|art|evt|msg|late|rep)_[0-9a-z]{26}|msg_[0-9a-f]{32})\b/g;
const TIME = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g;
/** Shown once, and different each time. */
const SECRET = /"(token|key|workerTokenHint)":"[^"]*"/g;

/** An answer without what must differ between two calls. */
function masked({ status, headers, text, requestId }: Answer, sent: Sample) {
  const named = [...textOf(sent).matchAll(/"([^"\\]{8,})"/g)].map(([, name]) => name ?? '');
  const body = named.reduce(
    (now, name) => now.replaceAll(name, '<named>'),
    text.replaceAll(requestId, '<request>').replaceAll(SECRET, '<secret>'),
  );
  const shown = Object.fromEntries(
    [...headers].filter(([name]) => !['date', 'x-request-id', 'x-server-time'].includes(name)),
  );
  return { status, headers: shown, body: body.replaceAll(NEW_ID, '<id>').replaceAll(TIME, '<time>') };
}

/** What this account's callers have said so far, and so may hear again. */
let said = '';

/** Nothing that the other account has is told, but what the caller said itself. */
function assertSilent({ text }: Answer, sent: Sample): void {
  said += textOf(sent);
  const told = [...stage.home.names].filter((name) => !said.includes(name) && text.includes(name));
  expect(told).toEqual([]);
}
