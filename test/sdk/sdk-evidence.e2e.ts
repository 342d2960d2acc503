import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { collect, joinDeltas } from '../support/events.ts';
import { describeSdk } from '../support/python.ts';
import { endWorkers, type WorkerProcess } from '../support/worker-process.ts';
import type { EventView, InvokeAnswer, RunDetail, RunView, Span } from './views.ts';
import { handleFor, World } from './world.ts';

const BLOB = '0123456789'.repeat(500_000);
const FIELD_LIMIT = 65_536;
/** The SDK tries a report three times over up to 70 s before it gives up. */
const GIVES_UP_WITHIN_MS = 100_000;

let world: World;
beforeAll(async () => {
  world = await World.open();
}, 90_000);
afterAll(() => world.close(), 60_000);

await describeSdk('evidence', (sdk) => {
  const handle = handleFor(sdk, 'evidence');
  let unsayable: RunView;
  let worker: WorkerProcess;
  beforeAll(async () => {
    const mute = handleFor(sdk, 'mute');
    const [probe] = await Promise.all([world.worker(sdk, handle), world.worker(sdk, mute)]);
    worker = probe;
    unsayable = await world.createRun(mute, { mode: 'surrogate-output' });
  }, 60_000);
  afterAll(endWorkers);

  describe('spans and usage', () => spansAndUsage(handle));
  describe('logs and messages', () => logsAndMessages(handle));
  describe('large values', () => largeValues(handle));
  describe('strange values', () => strangeValues(handle));

  it('K-30: a job and its worker know no address of the platform’s database', async () => {
    const { output } = await world.invoke(handle, { mode: 'env' });
    expect(JSON.stringify(output)).not.toMatch(/postgres|redis:/i);
  });

  it('worker-protocol §23.25: a batch that cannot be said is lost alone; the run goes on and ends well', async () => {
    const { run_id: runId } = await world.invoke(handle, { mode: 'surrogate-log' });
    const { status, log_events: lines } = await world.run(runId);
    expect(status).toBe('succeeded');
    const said = lines.map(({ message }) => message).filter((message) => message.includes('batch'));
    expect(said).toEqual(['first batch', 'third batch']);
    expect(worker.isRunning).toBe(true);
  }, 30_000);

  it(
    'worker-protocol §23.25: a run whose report cannot be said ends when its worker asks for the next one',
    async () => {
      const run = await world.ended(unsayable.run_id, GIVES_UP_WITHIN_MS);
      expect(run.status).toBe('failed');
      expect(run.error).toMatch(/^worker_lost:/);
      expect(await world.invoke(handleFor(sdk, 'mute'), { prompt: 'next' })).toMatchObject({ status: 'succeeded' });
    },
    GIVES_UP_WITHIN_MS + 10_000,
  );
});

/** Lets the probe do one thing and reads the whole record of it. */
async function recorded(handle: string, input: Readonly<Record<string, unknown>>): Promise<RunDetail> {
  const answer = await world.invoke(handle, input);
  return world.run(answer.run_id);
}

async function eventsOf(runId: string): Promise<EventView[]> {
  const events = await collect(world.rest.runStream(runId, { follow: false }));
  return events.filter(({ event }) => event === 'run.event').map(({ data }) => data as unknown as EventView);
}

async function artifactsOf(runId: string): Promise<string[]> {
  const artifacts = await world.rest.ask<{ artifact_id: string }[]>('GET', `/api/v1/runs/${runId}/artifacts`);
  return Promise.all(artifacts.map(async ({ artifact_id: id }) => contentOf(runId, id)));
}

async function contentOf(runId: string, artifactId: string): Promise<string> {
  const { content } = await world.rest.ask<{ content: string }>('GET', `/api/v1/runs/${runId}/artifacts/${artifactId}`);
  return content;
}

function spansAndUsage(handle: string): void {
  it('K-48: spans that the handler opened within each other are a tree with times and outcome', async () => {
    const { run_id: runId } = await recorded(handle, { mode: 'tree' });
    const spans = await world.rest.ask<Span[]>('GET', `/api/v1/runs/${runId}/spans`);
    const named = (name: string): Span => {
      const span = spans.find((one) => one.name === name);
      if (!span) throw new Error(`There is no span ${name}`);
      return span;
    };
    expect(named('think')).toMatchObject({ kind: 'chain', status: 'ok', parent_span_id: named('plan').span_id });
    expect(named('lookup')).toMatchObject({ kind: 'tool', status: 'ok', parent_span_id: named('think').span_id });
    expect(named('ask')).toMatchObject({ kind: 'llm', total_tokens: 100, parent_span_id: named('think').span_id });
    expect(named('break')).toMatchObject({ kind: 'tool', status: 'error' });
    expect(named('plan')).toMatchObject({
      kind: 'agent',
      started_at: expect.any(String),
      ended_at: expect.any(String),
    });
    expect(named('lookup').duration_ms).toBeGreaterThanOrEqual(15);
    for (const { duration_ms: duration } of spans) expect(duration).toBeGreaterThanOrEqual(0);
  });

  it('D-15: a tool’s span holds the real arguments and result, a model’s span its model and tokens', async () => {
    const { trace_events: edges } = await recorded(handle, { mode: 'tree' });
    const payload = (name: string, type: string) =>
      edges.find((edge) => edge.name === name && edge.event_type === type)?.payload;
    expect(payload('lookup', 'span.start')).toMatchObject({ args: { q: 'life', n: 42 } });
    expect(payload('lookup', 'span.end')).toMatchObject({ hits: [1, 2], answer: 'forty-two' });
    expect(payload('break', 'span.end')).toMatchObject({ error: 'the tool broke' });
    expect(payload('ask', 'span.end')).toMatchObject({ call_usage: { model: 'claude-sonnet-4-5', input_tokens: 60 } });
  });

  it('A12: the run counts its tool calls', async () => {
    const { run_id: runId, agent_id: agentId } = await recorded(handle, { mode: 'tree' });
    const runs = await world.rest.ask<RunView[]>('GET', '/api/v1/runs', { query: { agent_id: agentId } });
    expect(runs.find((run) => run.run_id === runId)).toMatchObject({ tool_calls: 2 });
  });

  it('K-53 D-17: usage that was reported twice adds up on the run and in the answer', async () => {
    const answer = await world.invoke(handle, { mode: 'usage' });
    const total = {
      model: 'claude-sonnet-4-5',
      input_tokens: 42,
      output_tokens: 16,
      total_tokens: 58,
      cost_source: 'reported',
    };
    expect(answer.usage).toMatchObject(total);
    const { usage } = await world.run(answer.run_id);
    expect(usage).toMatchObject(total);
    expect(usage['cost_amount']).toBeCloseTo(0.03, 6);
  });

  it('F-46: the total on an outer span is not added to what its model calls used', async () => {
    const { usage } = await recorded(handle, { mode: 'totals' });
    expect(usage).toMatchObject({ input_tokens: 80, output_tokens: 20, total_tokens: 100 });
  });

  it('worker-protocol §23.15: a failed run keeps what it had spent', async () => {
    const run = await recorded(handle, { mode: 'spend-and-raise' });
    expect(run).toMatchObject({ status: 'failed', usage: { input_tokens: 12, output_tokens: 6, total_tokens: 18 } });
  });
}

function logsAndMessages(handle: string): void {
  it('K-49 worker-protocol §23.12: log lines keep their level, however it is written, their time and their order', async () => {
    const { log_events: all } = await recorded(handle, { mode: 'logs' });
    const lines = all.filter(({ message }) => message.startsWith('a line of'));
    expect(lines.map(({ message }) => message)).toEqual(['a line of info', 'a line of warning', 'a line of ERROR']);
    expect(lines.map(({ level }) => level.toLowerCase())).toEqual(['info', 'warning', 'error']);
    const times = lines.map(({ timestamp }) => Date.parse(timestamp));
    expect(times).toEqual([...times].sort((left, right) => left - right));
  });

  it('K-50: messages are read in order, with their roles and kinds', async () => {
    const { messages } = await recorded(handle, { mode: 'messages' });
    expect(messages.map(({ role, message_type: kind, content }) => [role, kind, content])).toEqual([
      ['assistant', 'progress', 'thinking'],
      ['user', 'data', 'a question'],
      ['assistant', 'draft', 'a draft'],
      ['system', 'progress', 'a notice'],
      ['assistant', 'finalizing', 'the answer'],
    ]);
  });

  it('K-27 F-35 worker-protocol §23.12: 300 events that share one id are 300 events, in the order in which they were made', async () => {
    const { run_id: runId } = await recorded(handle, { mode: 'many', count: 300 });
    const lines = (await eventsOf(runId)).filter(({ content }) => content?.startsWith('line '));
    expect(lines.map(({ content }) => content)).toEqual(Array.from({ length: 300 }, (_, number) => `line ${number}`));
    expect(new Set(lines.map(({ event_id: id }) => id)).size).toBe(1);
    const sequence = lines.map(({ event_sequence: number }) => number);
    expect(sequence).toEqual(Array.from({ length: 300 }, (_, index) => (sequence[0] ?? 0) + index));
  });

  it('F-40: 5,000 events in one frame are all stored', async () => {
    const { run_id: runId, log_events: firstPage } = await recorded(handle, { mode: 'many', count: 5_000 });
    expect((await eventsOf(runId)).filter(({ content }) => content?.startsWith('line '))).toHaveLength(5_000);
    expect(firstPage).toHaveLength(1_000);
  }, 40_000);
}

function largeValues(handle: string): void {
  it('F-41 worker-protocol §23.18: an output of 5 MB is answered and kept whole', async () => {
    const answer = await world.invoke(handle, { mode: 'big' });
    expect(answer.output?.['blob'] === BLOB).toBe(true);
    expect((await world.run(answer.run_id)).output?.['blob'] === BLOB).toBe(true);
    const [done] = (await collect(world.rest.runStream(answer.run_id))).slice(-1);
    expect(done?.event).toBe('done');
    const runs = await world.rest.ask<RunView[]>('GET', '/api/v1/runs', { query: { agent_id: answer.agent_id } });
    expect(runs.find((run) => run.run_id === answer.run_id)).toMatchObject({ output_truncated: true });
  }, 60_000);

  it('F-41 F-48: a tool result of 5 MB is an artifact with a preview in its place, read only through its own run', async () => {
    const { run_id: runId, trace_events: edges } = await recorded(handle, { mode: 'big-tool' });
    const end = (await eventsOf(runId)).find(({ event_type: type, name }) => type === 'span.ended' && name === 'dump');
    const artifactId = String(end?.truncated?.[0]?.artifact_id);
    expect((await contentOf(runId, artifactId)).includes(BLOB)).toBe(true);
    expect(JSON.stringify(edges).length).toBeLessThan(4 * FIELD_LIMIT);
    const { run_id: another } = await world.invoke(handle, { prompt: 'another' });
    expect((await world.rest.call('GET', `/api/v1/runs/${another}/artifacts/${artifactId}`)).status).toBe(404);
  }, 60_000);

  it('F-41: a log line of 100,000 characters is kept whole behind its preview', async () => {
    const { run_id: runId } = await recorded(handle, { mode: 'long-log' });
    const line = (await eventsOf(runId)).find(({ content }) => content?.startsWith('long '));
    expect(line?.content?.length).toBeLessThanOrEqual(FIELD_LIMIT);
    expect(await contentOf(runId, String(line?.truncated?.[0]?.artifact_id))).toBe('long '.repeat(20_000));
  });

  it('F-40: values nested deeper than 64 levels are kept, and the run ends well', async () => {
    const run = await recorded(handle, { mode: 'deep' });
    expect(run.status).toBe('succeeded');
    const artifacts = await artifactsOf(run.run_id);
    expect(artifacts.filter((content) => content.includes('bottom'))).not.toEqual([]);
    const outputs = [JSON.stringify(run.output), ...artifacts];
    expect(outputs.some((text) => text.split('"in"').length > 70 && text.includes('bottom'))).toBe(true);
  });
}

function strangeValues(handle: string): void {
  it('worker-protocol §23.4: U+2028, U+2029 and U+0085 come back as they were sent, and are escaped in streams', async () => {
    const prompt = 'a\u2028b\u2029c\u0085d';
    const { body } = await world.rest.invoke<InvokeAnswer>(handle, { input: { mode: 'separators', prompt } });
    expect(body.output).toEqual({ text: prompt, codes: [...prompt].map((character) => character.codePointAt(0)) });
    const { log_events: lines } = await world.run(body.run_id);
    expect(lines.map(({ message }) => message)).toContain(`log ${prompt}`);
    const { body: raw } = await world.rest.call<string>('GET', `/api/v1/runs/${body.run_id}/stream`);
    expect(raw).not.toMatch(/[\u2028\u2029\u0085]/);
    expect(joinDeltas(await collect(world.rest.runStream(body.run_id)))).toBe(prompt);
  });

  it('F-40: NUL becomes U+FFFD wherever the worker said it, and the event says so', async () => {
    const run = await recorded(handle, { mode: 'nul' });
    expect(run).toMatchObject({ status: 'succeeded', output: { text: 'left\ufffdright' } });
    expect(run.log_events.map(({ message }) => message)).toContain('before\ufffdafter');
    const events = await eventsOf(run.run_id);
    expect(events.find(({ content }) => content === 'before\ufffdafter')?.altered).toEqual(['content']);
    const end = events.find(({ event_type: type }) => type === 'span.ended');
    expect(end).toMatchObject({ payload: { value: 'c\ufffdd' }, altered: [expect.stringContaining('value')] });
    const start = events.find(({ event_type: type }) => type === 'span.started');
    expect(start).toMatchObject({ payload: { args: { 'arg\ufffdname': 'a\ufffdb' } } });
  });

  it('F-40: numbers that a double cannot hold are kept digit for digit, as text', async () => {
    const run = await recorded(handle, { mode: 'numbers' });
    const huge = `1${'0'.repeat(399)}`;
    expect(run.output).toEqual({ text: 'counted', huge, exact: '9007199254740993', plain: Number.MAX_SAFE_INTEGER });
    const end = run.trace_events.find(({ event_type: type }) => type === 'span.end');
    expect(end?.payload).toEqual({ huge });
  });

  it('F-44: names that are special elsewhere are ordinary names here', async () => {
    const run = await recorded(handle, { mode: 'keys' });
    const strange = '"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}},"x.999999999.y":1';
    for (const member of strange.split(/,(?=")/)) expect(JSON.stringify(run.output)).toContain(member);
    const start = run.trace_events.find(({ event_type: type }) => type === 'span.start');
    for (const member of strange.split(/,(?=")/)) expect(JSON.stringify(start?.payload)).toContain(member);
    expect({}).not.toHaveProperty('polluted');
  });
}
