import { afterAll, beforeAll, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Claims } from '../../../src/dispatch/claims/claims.service.ts';
import { Presence } from '../../../src/workers/index.ts';
import type { StubWorker } from '../../support/stub-worker.ts';
import { Explaining, candidate } from './explaining.ts';

/** One world: a waiting run, the workers of its agent, and the terms of agent and account. */
interface World {
  readonly run: {
    readonly version: string | null;
    readonly labels: Readonly<Record<string, string>>;
    readonly needsReplay: boolean;
    readonly waitsFor: number;
    readonly notBefore: number | null;
    readonly failedOffers: readonly number[];
  };
  readonly workers: readonly {
    readonly mode: 'normal' | 'draining' | 'paused' | 'lame_duck';
    readonly version: string;
    readonly labels: Readonly<Record<string, string>>;
    readonly canReplay: boolean;
    readonly isAbsent: boolean;
    /** Runs that it holds in a slot, and one that it started by itself. */
    readonly held: number;
    readonly hasOwn: boolean;
  }[];
  readonly queue: 'open' | 'paused' | 'draining';
  readonly agentLimit: number | null;
  readonly accountLimit: number | null;
  /** Runs of another agent that are out. */
  readonly elsewhere: number;
}

const WORKERS = 4;
/** The last of them takes two runs at once. */
const SLOTS = [1, 1, 1, 2];

const labels = fc.constantFrom<Record<string, string>>({}, { zone: 'a' }, { zone: 'b', gpu: 'yes' }, { gpu: 'yes' });
const usually = <Value>(value: Value, ...others: Value[]): fc.Arbitrary<Value> =>
  fc.oneof({ weight: 3, arbitrary: fc.constant(value) }, { weight: 2, arbitrary: fc.constantFrom(value, ...others) });
const worlds: fc.Arbitrary<World> = fc.record({
  run: fc.record({
    version: usually<string | null>(null, '1', '2'),
    labels: fc.oneof({ weight: 2, arbitrary: fc.constant({}) }, { weight: 1, arbitrary: labels }),
    needsReplay: usually(false, true),
    waitsFor: fc.constantFrom(1, 1_000),
    notBefore: usually<number | null>(null, -10, 600),
    failedOffers: fc.subarray([0, 1, 2, 3]),
  }),
  workers: fc.array(
    fc.record({
      mode: usually<World['workers'][number]['mode']>('normal', 'draining', 'paused', 'lame_duck', 'lame_duck'),
      version: fc.constantFrom('1', '2'),
      labels,
      canReplay: fc.boolean(),
      isAbsent: usually(false, true),
      held: usually(0, 1, 2),
      hasOwn: usually(false, true),
    }),
    { minLength: WORKERS, maxLength: WORKERS },
  ),
  queue: usually<World['queue']>('open', 'draining', 'paused'),
  agentLimit: usually<number | null>(null, 1, 2, 4),
  accountLimit: usually<number | null>(null, 1, 3, 6),
  elsewhere: fc.nat({ max: 2 }),
});

let place: Explaining;
beforeAll(async () => {
  // Whatever the workers of a world hold, nobody is lost in it: what is compared is the claim.
  place = await Explaining.open({ SIGNALBOX_FAILED_OFFER_SECONDS: '600', SIGNALBOX_SWEEP_SECONDS: '60' });
});
afterAll(() => place.close());

const RULES = [
  ...['limit.account_concurrency', 'limit.agent_concurrency', 'queue.agent_paused', 'retry.backoff'],
  ...['worker.busy', 'worker.channel_stale', 'worker.draining', 'worker.failed_offer', 'worker.incompatible'],
  ...['worker.label_mismatch', 'worker.lame_duck', 'worker.paused', 'worker.version_mismatch'],
];

it('F-33: a worker is eligible exactly when its claim is given the run', async () => {
  const stage = await prepare();
  const seen = new Map<string, number>();
  const property = fc.asyncProperty(worlds, async (world) => {
    await arrange(stage, world);
    const explanation = await place.explain(stage.runId);
    const given: string[] = [];
    for (const [index, worker] of stage.crew.entries()) {
      if (world.workers[index]?.isAbsent) continue;
      const verdict = candidate(explanation, worker);
      const isGiven = await claims(stage, world, index);
      if (isGiven) given.push(worker.id);
      const said = { code: explanation.reason.code, eligible: verdict.eligible, why: verdict.reason?.code };
      expect({ ...said, isGiven }).toEqual({ ...said, isGiven: said.code === 'handing_out' && said.eligible });
      const rule = said.code.startsWith('agent.') || said.eligible ? (said.why ?? said.code) : said.code;
      seen.set(rule, (seen.get(rule) ?? 0) + 1);
    }
    if (world.workers.every(({ isAbsent }) => !isAbsent))
      expect(explanation.reason.code === 'handing_out').toBe(given.length > 0);
  });
  // Worlds in which a rule never speaks prove nothing about it.
  const silent = () => RULES.filter((rule) => !seen.has(rule));
  for (let round = 0; round === 0 || (round < 5 && silent().length > 0); round += 1)
    await fc.assert(property, { numRuns: 120 });
  expect(silent()).toEqual([]);
}, 240_000);

interface Stage {
  readonly accountId: string;
  readonly agentId: string;
  readonly crew: readonly StubWorker[];
  readonly runId: string;
  /** Runs to be held: three a worker, two of them in slots; and two of another agent. */
  readonly fillers: readonly string[];
  readonly elsewhere: readonly string[];
}

const sql = <Row extends object>(text: string, values: readonly unknown[]): Promise<Row[]> =>
  place.scene.app.database.query<Row>(text, [...values]);

async function prepare(): Promise<Stage> {
  const first = await place.scene.worker();
  const crew = [first];
  for (const slots of SLOTS.slice(1)) crew.push(await place.colleague(first, { max_concurrent: slots }));
  const other = await place.scene.worker();
  const runId = await place.scene.queue(first);
  const fillers: string[] = [];
  for (let index = 0; index < 3 * WORKERS; index += 1) fillers.push(await place.scene.queue(first));
  const elsewhere = [await place.scene.queue(other), await place.scene.queue(other)];
  const [row] = await sql<{ account_id: string; agent_id: string }>(
    'SELECT account_id, agent_id FROM run WHERE id = $1',
    [runId],
  );
  return { accountId: row?.account_id ?? '', agentId: row?.agent_id ?? '', crew, runId, fillers, elsewhere };
}

async function arrange(stage: Stage, world: World): Promise<void> {
  const { accountId, agentId, crew } = stage;
  await place.scene.app.nest.get(Presence).flush(); // nothing heard in the world before is written into this one
  await waits(stage, world);
  await hold(stage, world);
  const { workers, queue, agentLimit, accountLimit } = world;
  await sql(
    `UPDATE worker SET mode = made.mode, version = made.version, labels = made.labels, can_replay = made."canReplay", last_claim_at = now(),
            last_seen_at = now() - make_interval(secs => CASE WHEN made."isAbsent" THEN 200 ELSE 0 END)
       FROM jsonb_to_recordset($1::jsonb) AS made (id text, mode text, version text, labels jsonb, "canReplay" boolean, "isAbsent" boolean)
      WHERE worker.id = made.id`,
    [JSON.stringify(workers.map((worker, index) => ({ ...worker, id: crew[index]?.id })))],
  );
  await sql(
    `WITH queue AS (
       INSERT INTO agent_queue (account_id, agent_id, state, changed_by) VALUES ($1, $2, $3, 'test')
       ON CONFLICT (account_id, agent_id) DO UPDATE SET state = $3, since = now()),
     policy AS (
       INSERT INTO agent_policy (account_id, agent_id, max_concurrent_runs, updated_by) VALUES ($1, $2, $4, 'test')
       ON CONFLICT (account_id, agent_id) DO UPDATE SET max_concurrent_runs = $4)
     INSERT INTO account_settings (account_id, concurrent_runs, updated_by) VALUES ($1, $5, 'test')
     ON CONFLICT (account_id) DO UPDATE SET concurrent_runs = $5`,
    [accountId, agentId, queue, agentLimit, accountLimit],
  );
}

/** The run as it waits in this world, also after a claim took it. */
async function waits({ runId, crew }: Stage, { run }: World): Promise<void> {
  const { version, needsReplay, waitsFor, notBefore, failedOffers } = run;
  await sql(
    `UPDATE run SET status = 'queued', worker_id = NULL, slot = NULL, claimed_at = NULL, first_claimed_at = NULL, offers = 0,
            require_version = $2, require_labels = $3::jsonb, needs_replay = $4, waiting_since = now() - make_interval(secs => $5),
            not_before = now() + make_interval(secs => $6), failed_offers = $7::text[] WHERE id = $1`,
    [
      ...[runId, version, JSON.stringify(run.labels), needsReplay, waitsFor, notBefore],
      failedOffers.map((index) => crew[index]?.id),
    ],
  );
}

/** Which runs a worker holds in its slots. */
function slotted({ fillers }: Stage, world: World, index: number): string[] {
  const held = Math.min(world.workers[index]?.held ?? 0, SLOTS[index] ?? 1);
  return fillers.slice(3 * index, 3 * index + held);
}

async function hold(stage: Stage, world: World): Promise<void> {
  const { crew, fillers, elsewhere } = stage;
  const out = world.workers.flatMap(({ hasOwn }, index) => {
    const worker = crew[index]?.id;
    const held = slotted(stage, world, index).map((id, slot) => ({ id, worker, slot: slot }));
    return hasOwn ? [...held, { id: fillers[3 * index + 2], worker, slot: null }] : held;
  });
  const others = elsewhere.slice(0, world.elsewhere).map((id) => ({ id, worker: 'of another agent', slot: null }));
  await sql(`UPDATE run SET status = 'succeeded', finished_at = now(), slot = NULL WHERE id = ANY ($1::text[])`, [
    [...fillers, ...elsewhere],
  ]);
  await sql(
    `UPDATE run SET status = 'running', finished_at = NULL, worker_id = held.worker, slot = held.slot, claimed_at = now(),
            first_claimed_at = now(), started_at = now()
       FROM jsonb_to_recordset($1::jsonb) AS held (id text, worker text, slot int) WHERE run.id = held.id`,
    [JSON.stringify([...out, ...others])],
  );
}

/** Whether the worker's own claim is given the run; it waits again afterwards. */
async function claims(stage: Stage, world: World, index: number): Promise<boolean> {
  place.scene.app.nest.get(Claims).lookAgain(stage.accountId, stage.agentId); // the rows were changed behind its back
  const job = await stage.crew[index]?.claim({ holds: slotted(stage, world, index) });
  if (job) expect(job.run_id).toBe(stage.runId);
  await waits(stage, world);
  return job !== undefined;
}
