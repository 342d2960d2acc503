import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { RunFailure, type Handler, type JsonObject } from '../../../examples/worker/src/index.ts';
import { startApp, type Json, type RunningApp } from '../../support/app.ts';
import { LibraryWorker, type LibraryChoices } from '../../support/library.ts';
import { eventually } from '../../support/rest.ts';

let app: RunningApp;
let key: string;
const started: LibraryWorker[] = [];
beforeAll(async () => {
  app = await startApp({ env: { SIGNALBOX_CHANNEL_PING_SECONDS: '0.5' } });
  ({ key } = await app.account());
});
afterEach(async () => {
  await Promise.all(started.splice(0).map((worker) => worker.stop()));
});
afterAll(() => app.stop());

async function worker(onRun: Handler<JsonObject>, choices: LibraryChoices = {}): Promise<LibraryWorker> {
  const made = await LibraryWorker.start(app, key, onRun, choices);
  started.push(made);
  return made;
}

describe('what a worker says of its agent', () => {
  it('is on record as its author wrote it', async () => {
    const agent = {
      name: 'Librarian',
      description: 'Finds books.',
      version: '2.1.0',
      owner: 'books',
      model: 'none',
      labels: { zone: 'eu' },
      tools: ['find'],
      inputSchema: { type: 'object', required: ['title'] },
      defaultInput: { title: 'Emma' },
      skills: [{ id: 'search', name: 'Search', description: 'How to.', content: '# Search' }],
      capabilities: { chat: true },
    };
    const librarian = await worker(async () => ({}), { agent, maxConcurrent: 3 });
    await eventually(async () =>
      expect(await librarian.see()).toMatchObject({
        ...{ dialect: '0.3', sdk_version: 'signalbox-worker/0.1.0', version: '2.1.0', slots: { total: 3, busy: 0 } },
        ...{ lights: { process: { state: 'ok' }, channel: { state: 'ok' }, claim: { state: 'ok' } }, health: null },
      }),
    );
    expect(await librarian.get(`/api/v1/agents/${librarian.handle}`)).toMatchObject({
      ...{ name: 'Librarian', version: '2.1.0', input_schema: agent.inputSchema, default_input: agent.defaultInput },
      agent_card: { capabilities: { chat: true, streaming: true }, skills: [{ id: 'search' }] },
    });
    const refused = await app.call('POST', '/api/v1/runs', { key, body: { agent_id: librarian.handle, input: {} } });
    expect([refused.status, refused.text]).toEqual([422, expect.stringContaining('title')]);
  });
});

describe('runs at once', () => {
  it('are as many as there are slots, never more, and all of them are done', async () => {
    let now = 0;
    let most = 0;
    const rooms: (() => void)[] = [];
    const crew = await worker(
      async (run) => {
        most = Math.max(most, (now += 1));
        if (now % 4 === 0) rooms.splice(0).forEach((leave) => leave());
        else await new Promise<void>((leave) => void rooms.push(leave)); // until all slots are taken
        now -= 1;
        return { number: run.input['number'] };
      },
      { maxConcurrent: 4 },
    );
    const ids = await Promise.all(Array.from({ length: 20 }, (_, number) => crew.order({ number })));
    const runs = await Promise.all(ids.map((id) => crew.run(id, 'succeeded')));
    expect(runs.map((run) => run.output.number)).toEqual(Array.from({ length: 20 }, (_, number) => number));
    expect(runs.map((run) => run.attempt)).toEqual(runs.map(() => 1)); // none was taken for lost
    expect(most).toBe(4);
  });
});

describe('what a run says', () => {
  it('comes in order: progress, nested spans, a tool call, the growing answer, usage', async () => {
    const talker = await worker(async (run) => {
      await run.log('warning', 'a line', { place: 1 });
      await run.span('answer', 'agent', { prompt: 'hi' }, async (answer) => {
        await run.tool('look', { at: 'it' }, async () => ({ seen: true }));
        for (const word of ['one', ' two', ' three']) {
          await run.append(word);
          await pause(80);
        }
        answer.result({ words: 3 });
      });
      await run.usage({ provider: 'p', model: 'm', inputTokens: 1, outputTokens: 3, totalTokens: 4 });
      run.setDiagnostics({ num_turns: 1 });
      return run.text;
    });
    const id = await talker.order();
    const run = await talker.run(id, 'succeeded');
    expect(run).toMatchObject({
      output: { text: 'one two three' },
      usage: { provider: 'p', model: 'm', input_tokens: 1, output_tokens: 3, total_tokens: 4 },
    });
    const events = await talker.events(id);
    const steps = events.map(({ event_type: type, name }) => [type, name ?? ''].join(' ').trim());
    expect(steps.filter((step, index) => step !== steps[index - 1])).toEqual([
      'log.created',
      'span.started answer',
      'span.started look',
      'span.ended look',
      'output.updated',
      'span.ended answer',
      'token.created',
    ]);
    const texts = events.filter(({ event_type }) => event_type === 'output.updated').map(({ payload }) => payload.text);
    expect(texts).toEqual(texts.toSorted((one, other) => one.length - other.length));
    expect(texts.at(-1)).toBe('one two three');
    expect(events.map((event) => event.event_sequence)).toEqual(events.map((_, index) => index + 1));
    const [answer, look] = await talker.get(`/api/v1/runs/${id}/spans`);
    expect([look.name, look.parent_span_id, look.status]).toEqual(['look', answer.span_id, 'ok']);
    expect(events[3].payload).toMatchObject({ tool_response: { seen: true } });
  });

  it('is complete when it is large: no event is lost, none comes twice, and the speaker was slowed down', async () => {
    const filler = 'x'.repeat(2_000);
    const chatty = await worker(async (run) => {
      for (let line = 0; line < 3_000; line += 1) await run.log('info', `${line} ${filler}`);
      await run.artifact('big.txt', filler.repeat(500));
      return { text: filler.repeat(1_000) };
    });
    const id = await chatty.order();
    const run = await chatty.run(id, 'succeeded');
    expect(run.output.text).toHaveLength(2_000_000);
    const said = (await chatty.events(id)).filter((event) => event.event_type === 'log.created');
    const numbers = said.map((event) => event.event_sequence);
    expect(numbers).toEqual(Array.from({ length: 3_000 }, (_, index) => index + 1));
    const completeness: Json = await chatty.get(`/api/v1/runs/${id}/completeness`);
    expect(JSON.stringify(completeness)).not.toMatch(/"(gaps|duplicates?)":\s*[1-9]/);
    expect(await chatty.get(`/api/v1/runs/${id}/artifacts`)).toMatchObject([{ name: 'big.txt', bytes: 1_000_000 }]);
  }, 60_000);

  it('is a failure with its reason and details when the handler throws, and when it answers nothing', async () => {
    const failing = await worker(async (run) => {
      run.setSnapshot({ kept: true });
      if (run.input['how'] === 'details') throw new RunFailure('no such book', { shelf: 3 });
      if (run.input['how'] === 'loop') return ((loop: JsonObject) => Object.assign(loop, { loop }))({});
      if (run.input['how'] === 'nothing') return undefined as unknown as JsonObject;
      throw new TypeError('broken');
    });
    const errorOf = async (how: string): Promise<Json> => failing.run(await failing.order({ how }), 'failed');
    expect(await errorOf('details')).toMatchObject({
      error: expect.stringContaining('no such book'),
      diagnostics: { shelf: 3 },
    });
    expect((await errorOf('throws')).error).toBe('TypeError: broken');
    expect((await errorOf('nothing')).error).toBe('the handler ended without an answer');
    expect((await errorOf('loop')).error).toMatch(/^the answer cannot be reported: .*circular/i);
  });
});

describe('a session', () => {
  it('goes on with what the run before it left', async () => {
    const counter = await worker(async (run) => {
      const count = Number(run.snapshot?.['count'] ?? 0) + 1;
      run.setSnapshot({ count });
      return { count, thread: run.threadId };
    });
    const first = await counter.run(await counter.order(), 'succeeded');
    const { run_id: second } = await counter.post(`/api/v1/runs/${first.run_id}/revive`, {});
    expect((await counter.run(second, 'succeeded')).output).toEqual({ ...first.output, count: 2 });
  });
});

describe('a cancel', () => {
  it('aborts the signal of its run and of no other', async () => {
    const ends: string[] = [];
    const patient = await worker(
      async (run) => {
        await pause(run.input['ms'] as number, undefined, { signal: run.signal }).catch(() => undefined);
        ends.push(`${run.input['name']} ${run.signal.aborted}`);
        return {};
      },
      { maxConcurrent: 2 },
    );
    const doomed = await patient.order({ name: 'doomed', ms: 20_000 });
    const other = await patient.order({ name: 'other', ms: 1_000 });
    await patient.run(doomed, 'running');
    await patient.post(`/api/v1/runs/${doomed}/cancel`, {});
    await patient.run(other, 'succeeded');
    expect(ends).toEqual(['doomed true', 'other false']);
    expect((await patient.run(doomed, 'cancelled')).output).toBeNull();
    await eventually(async () => expect((await patient.see()).slots.busy).toBe(0));
  });
});

describe('secrets', () => {
  it('are in the run’s object and in no environment, and what comes back of them is masked', async () => {
    const value = 'correct-horse-battery-staple';
    let seen: unknown[] = [];
    const trusted = await worker(async (run) => {
      seen = [
        run.secret('api-key'),
        (await run.onDemandSecrets())['late-key'],
        JSON.stringify(process.env).includes(value),
      ];
      await run.log('info', `I know ${run.secret('api-key')}`);
      return run.secret(String(run.input['name'] ?? 'api-key'));
    });
    for (const [name, onDemand] of [
      ['api-key', false],
      ['late-key', true],
    ] as const) {
      const stored = await trusted.post('/api/v1/credentials', { name, value: onDemand ? `${value}-late` : value });
      await trusted.post(`/api/v1/credentials/${stored.id}/bindings`, {
        agent_id: trusted.handle,
        on_demand: onDemand,
      });
    }
    const id = await trusted.order();
    const run = await trusted.run(id, 'succeeded');
    expect(seen).toEqual([value, `${value}-late`, false]);
    expect(JSON.stringify([run, await trusted.events(id), trusted.lines])).not.toContain(value);
    expect(run.output.text).toContain('REDACTED');
    const missing = await trusted.run(await trusted.order({ name: 'other' }), 'failed');
    expect(missing.error).toContain('was handed no secret other: bind the credential to the agent');
  });
});

describe('what operators do', () => {
  it('is heard: a changed configuration in the next run, a question about health, an action of the author’s own', async () => {
    const configured = await worker(async (run) => ({ ops: run.config.ops, version: run.config.version }), {
      supportedOps: ['prompt_append'],
      health: async () => ({ ok: false, detail: 'the disk is full' }),
    });
    const ops = [
      { type: 'prompt_append', text: 'Be brief.' },
      { type: 'skill_set', skill_id: 'greet', text: 'Hi.' },
    ];
    const put = await app.call('PUT', `/api/v1/agents/${configured.handle}/worker-config`, { key, body: { ops } });
    expect(put.status).toBe(200);
    await eventually(async () =>
      expect((await configured.see()).config).toEqual({
        ...{ wanted_version: put.json.version, applied_version: put.json.version, unsupported_ops: ['skill_set'] },
      }),
    );
    const run = await configured.run(await configured.order(), 'succeeded');
    expect(run.output).toMatchObject({
      version: put.json.version,
      ops: [{ text: 'Be brief.' }, { skill_id: 'greet' }],
    });
    await configured.post(`/api/v1/workers/${configured.workerId}/actions`, { action: 'health_check' });
    await eventually(async () =>
      expect((await configured.see()).health).toMatchObject({ ok: false, detail: 'the disk is full' }),
    );
  });

  it('drain_restart is acknowledged; the run under way is finished and the program ends', async () => {
    const going = await worker(async () => (await pause(700), { text: 'done' }));
    const id = await going.order();
    await going.run(id, 'running');
    await going.post(`/api/v1/workers/${going.workerId}/actions`, { action: 'drain_restart' });
    await going.served;
    expect((await going.run(id, 'succeeded')).output).toEqual({ text: 'done' });
    expect(await going.get(`/api/v1/workers/${going.workerId}/actions`)).toMatchObject([
      { action: 'drain_restart', state: expect.stringMatching(/acknowledged|done/) },
    ]);
  });
});

describe('an approval', () => {
  const rules = { rules: [{ id: 'pay', name: 'Pay', outcome: 'ask', criteria: [{ tool_patterns: ['pay'] }] }] };
  const open = async (asker: LibraryWorker, id: string): Promise<Json> =>
    eventually(async () => {
      const [first] = await asker.get(`/api/v1/approvals?run_id=${id}&state=pending`);
      if (!first) throw new Error('nobody has asked yet');
      return first;
    });

  it('is asked for and waited for: approved goes on, denied throws with the reason, what no rule covers goes on at once', async () => {
    const asker = await worker(async (run) => {
      const tool = String(run.input['tool']);
      await run.approve({ tool, arguments: { amount: 7 } });
      return { paid: true };
    });
    const put = await app.call('PUT', `/api/v1/agents/${asker.handle}/worker-config`, {
      key,
      body: { action_rules: rules },
    });
    expect(put.status).toBe(200);
    for (const [state, status] of [
      ['approved', 'succeeded'],
      ['denied', 'failed'],
    ] as const) {
      const id = await asker.order({ tool: 'pay' });
      const { approval_id } = await open(asker, id);
      await asker.post(`/api/v1/approvals/${approval_id}/decide`, { state, comment: 'because' });
      const run = await asker.run(id, status);
      expect(run.error).toBe(state === 'denied' ? 'ApprovalRefused: pay was not allowed (denied): because' : null);
    }
    await asker.run(await asker.order({ tool: 'smile' }), 'succeeded');
  });
});
