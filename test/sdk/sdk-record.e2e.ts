import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { collect } from '../support/events.ts';
import { describeSdk, type Sdk } from '../support/python.ts';
import { endWorkers } from '../support/worker-process.ts';
import type { RunView } from './views.ts';
import { handleFor, World } from './world.ts';

/** Long enough to be looked for in every encoding, with characters that each encoding writes in its own way. */
const SECRET = 'hush/hush+"quoted"&ünder-lock=1';
const BYTES = Buffer.from(SECRET);

let world: World;
beforeAll(async () => {
  world = await World.open();
}, 90_000);
afterAll(() => world.close(), 60_000);

await describeSdk('the record', (sdk) => {
  const handle = handleFor(sdk, 'keeper');
  beforeAll(async () => {
    const body = { name: 'ON_DEMAND', value: SECRET };
    const known = await world.rest.ask<{ id: string; name: string }[]>('GET', '/api/v1/credentials');
    const { id } =
      known.find(({ name }) => name === body.name) ??
      (await world.rest.ask<{ id: string }>('POST', '/api/v1/credentials', { body }));
    await world.rest.ask('POST', `/api/v1/credentials/${id}/bindings`, { body: { agent_id: handle, on_demand: true } });
    await world.worker(sdk, handle, { script: 'keeper.py' });
  }, 120_000);
  afterAll(endWorkers);
  describe('artifacts', () => artifacts(sdk));
  describe('sessions', () => sessions(sdk));
  describe('runs of their own', () => ownRuns(sdk));
  describe('secrets', () => leaks(sdk));
});

function artifacts(sdk: Sdk): void {
  it('K-51: what a worker writes is read as it was written, and the list leaves the contents out', async () => {
    const { run_id: runId } = await world.createRun(handleFor(sdk, 'keeper'), { mode: 'write' });
    const { output } = await world.ended(runId, 40_000);
    const { ids } = output as { ids: string[] };
    const list = await world.rest.ask<{ artifact_id: string; name: string }[]>(
      'GET',
      `/api/v1/runs/${runId}/artifacts`,
    );
    expect(list.map(({ artifact_id, name }) => [artifact_id, name])).toEqual([
      [ids[0], 'report.md'],
      [ids[1], 'data.bin'],
    ]);
    expect(JSON.stringify(list)).not.toContain('ünïcode');
    expect(await world.rest.ask('GET', `/api/v1/runs/${runId}/artifacts/${ids[0]}`)).toMatchObject({
      name: 'report.md',
      mime_type: 'text/markdown',
      content: '# Report\n\u2028ünïcode',
    });
    const url = `${world.server.url}/api/v1/runs/${runId}/artifacts/${ids[1]}/content`;
    const response = await fetch(url, { headers: { authorization: `Bearer ${world.server.key}` } });
    expect(Buffer.from(await response.arrayBuffer())).toEqual(
      Buffer.from(Array.from({ length: 256 }, (_, byte) => byte)),
    );
  });
}

function sessions(sdk: Sdk): void {
  it('a revived run goes on from the session of the one before, in the same thread', async () => {
    const { run_id: first } = await world.createRun(handleFor(sdk, 'keeper'), { mode: 'remember', prompt: 'one' });
    const begun = await world.ended(first, 40_000);
    expect(begun).toMatchObject({ status: 'succeeded', revivable: true, output: { text: 'turn 1', before: null } });
    const body = { input: { mode: 'remember', prompt: 'two' } };
    const { run_id: second } = await world.rest.ask<RunView>('POST', `/api/v1/runs/${first}/revive`, { body });
    expect(await world.ended(second, 40_000)).toMatchObject({
      output: { text: 'turn 2', before: { turn: 1, said: ['one'] } },
    });
    const { run_id: third } = await world.rest.ask<RunView>('POST', `/api/v1/runs/${second}/revive`);
    const last = await world.ended(third, 40_000);
    expect(last).toMatchObject({ output: { text: 'turn 3', before: { turn: 2, said: ['one', 'two'] } } });
    const chain = await world.rest.ask<RunView[]>('GET', `/api/v1/runs?thread_id=${last.thread_id}`);
    expect(chain.map(({ run_id: id }) => id)).toEqual([first, second, third]);
  });
}

function ownRuns(sdk: Sdk): void {
  it('a worker begins a run by itself beside the one that it was given, and each has its own record and end', async () => {
    const { run_id: given } = await world.createRun(handleFor(sdk, 'keeper'), { mode: 'begin' });
    const { status, output } = await world.ended(given, 40_000);
    expect(status).toBe('succeeded');
    const own = (output as { run_id: string }).run_id;
    expect(await world.run(own)).toMatchObject({
      ...{ status: 'succeeded', input: { prompt: 'nobody asked' }, output: { text: 'done by itself' } },
      ...{ channel: 'agent', attempt: 1 },
    });
    expect(await world.rest.ask('GET', `/api/v1/runs/${own}/artifacts`)).toMatchObject([{ name: 'note.txt' }]);
    expect(await world.rest.ask('GET', `/api/v1/runs/${own}/attempts`)).toMatchObject([{ path: 'self' }]);
  });
}

function leaks(sdk: Sdk): void {
  it.each([false, true])(
    'F-47: a value that was handed out is found nowhere afterwards, in no encoding (fails: %s)',
    async (fails) => {
      const { run_id: runId } = await world.createRun(handleFor(sdk, 'keeper'), { mode: 'leak', fails });
      const live = collect(world.rest.runStream(runId));
      const run = await world.ended(runId, 40_000);
      expect(run.status).toBe(fails ? 'failed' : 'succeeded');
      const parts = ['', '/events?limit=1000', '/spans', '/artifacts', '/completeness', '/recording'];
      const read = await Promise.all(parts.map((part) => world.rest.ask('GET', `/api/v1/runs/${runId}${part}`)));
      const [artifact] = read[3] as { artifact_id: string }[];
      const content = await world.rest.ask('GET', `/api/v1/runs/${runId}/artifacts/${artifact?.artifact_id}`);
      const texts = [...read, content, await live].map((part) => JSON.stringify(part));
      for (const text of texts) for (const form of formsOf(SECRET)) expect(text).not.toContain(form);
      expect(texts.join()).toContain('***REDACTED***');
      expect((read[4] as { masked: number }).masked).toBeGreaterThan(10);
      for (const form of formsOf(SECRET)) expect(world.server.log()).not.toContain(form);
    },
  );
}

/** As the value may stand in a text, and inside a JSON text of such a text. */
function formsOf(value: string): readonly string[] {
  const aligned = [0, 1, 2].map((shift) => {
    const text = Buffer.concat([Buffer.alloc(shift), BYTES]).toString('base64');
    return text.slice(4, -4); // without what its neighbours have a part in
  });
  const json = JSON.stringify(value).slice(1, -1);
  const half = JSON.stringify(value.slice(0, value.length / 2)).slice(1, -1);
  return [value, json, half, JSON.stringify(json).slice(1, -1), encodeURIComponent(value), ...aligned];
}
