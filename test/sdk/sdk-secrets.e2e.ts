import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { FRAGILE_VERSIONS, describeSdk, type Sdk } from '../support/python.ts';
import { endWorkers, type WorkerProcess } from '../support/worker-process.ts';
import { handleFor, World } from './world.ts';

let world: World;
beforeAll(async () => {
  world = await World.open();
}, 90_000);
afterAll(() => world.close(), 60_000);

/** The newest, the first whose clients wait after a failure, and the one that ends its process over a map. */
const VERSIONS = ['0.4.13', '0.3.0', ...FRAGILE_VERSIONS];

await describeSdk(
  'secrets',
  (sdk) => {
    afterAll(endWorkers);
    describe('a job', () => secretsOfJobs(sdk));
  },
  VERSIONS,
);

interface Told {
  readonly environment: Readonly<Record<string, string>>;
}

function secretsOfJobs(sdk: Sdk): void {
  const handle = handleFor(sdk, 'secrets');
  const ids = new Map<string, string>();
  let worker: WorkerProcess;

  async function give(name: string, value: string, onDemand = false): Promise<void> {
    const path = '/api/v1/credentials';
    const body = { name, value };
    const known = (await world.rest.ask<{ id: string; name: string }[]>('GET', path)).find((one) => one.name === name);
    const { id } = known ?? (await world.rest.ask<{ id: string }>('POST', path, { body }));
    if (known) await world.rest.ask('PUT', `${path}/${id}/value`, { body: { value } });
    await world.rest.ask('POST', `${path}/${id}/bindings`, { body: { agent_id: handle, on_demand: onDemand } });
    ids.set(name, id);
  }

  beforeAll(async () => {
    await give('ON_DEMAND', 'hush-on-demand', true);
    await give('plain', 'hush-plain');
    await give('db-creds', '{"user":"hush-user","pass":"hush-pass"}');
    worker = await world.worker(sdk, handle, { script: 'vaulted.py' });
  }, 90_000);

  /** What the worker found in its environment during a run. */
  async function told(): Promise<Told['environment']> {
    const { run_id } = await world.createRun(handle, { prompt: 'tell' });
    const { status, error, output } = await world.ended(run_id, 40_000);
    expect([status, error]).toEqual(['succeeded', null]);
    const { environment } = output as { environment: Record<string, number[]> };
    return Object.fromEntries(Object.entries(environment).map(([name, letters]) => [name, textOf(letters)]));
  }

  it('D-12 A12: finds what is bound to its agent in the environment, each part by its name, and the run token', async () => {
    expect(await told()).toEqual({
      ON_DEMAND: 'hush-on-demand',
      plain: 'hush-plain',
      DB_CREDS__USER: 'hush-user',
      DB_CREDS__PASS: 'hush-pass',
      // 0.2.0 keeps it out of the environment
      ...(sdk.version === '0.2.0' ? {} : { AGENTOPS_MCP_TOKEN: expect.stringMatching(/^srt_/) }),
    });
  });

  it('D-11: finds a rotated value in its next run, in the same process', async () => {
    const before = worker.isRunning;
    await give('plain', 'hush-rotated');
    const environment = await told();
    expect([before, worker.isRunning, environment['plain']]).toEqual([true, true, 'hush-rotated']);
  });

  it('lives on when a run is not given out for a disabled credential, and takes the next one', async () => {
    const path = `/api/v1/credentials/${ids.get('plain')}`;
    await world.rest.ask('PATCH', path, { body: { status: 'disabled' } });
    const { run_id } = await world.createRun(handle, {});
    const { status, error } = await world.ended(run_id, 40_000);
    expect([status, error]).toEqual(['failed', 'credential_disabled: plain is disabled']);
    await world.rest.ask('PATCH', path, { body: { status: 'active' } });
    expect(await told()).toHaveProperty('plain', 'hush-rotated');
  });
}

function textOf(letters: readonly number[]): string {
  return letters.map((letter) => String.fromCodePoint(letter - 1_000)).join('');
}
