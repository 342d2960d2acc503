import type pg from 'pg';
import { JsonClient } from '../client/json-client.ts';
import { holdRuns } from '../flood/held-run.ts';
import { connect } from '../floors/floor-database.ts';
import { rounds } from '../pairs.ts';
import { alone, type Figure } from '../report/figure.ts';
import type { Form, Measurement, Row } from '../row.ts';
import type { Product } from '../stage/product.ts';
import { StatementCounter } from '../stage/statement-counter.ts';
import type { Stage } from '../stage/stage.ts';
import { median } from '../statistics.ts';

const AGENTS: Readonly<Record<Form, number>> = { full: 10_000, short: 1_000 };
const WORKERS_AN_AGENT = 2;
/** Of each agent: two that wait, one that runs, and the rest has ended. */
const RUNS_AN_AGENT = 20;
const RSS_EVERY_MS = 20;
/** Code is compiled and plans are made by then; memory counts from before it. */
const WARM_LOOKS = 1;

/** One look at all agents. */
interface Look {
  readonly ms: number;
  readonly statements: number;
  /** How far the memory of the server rose above what it was before the first look; null where it cannot be read. */
  readonly growthMb: number | null;
  /** Of the server alone. */
  readonly cpuMs: number | null;
}

/** B-18: what it costs to look at very many agents at once. */
export const agentList: Row = {
  id: 'B-18',
  work: 'agent list, 10,000 agents (short: 1,000) with two workers and twenty runs each, complete in one answer',
  inShortForm: false,
  measure,
};

async function measure(stage: Stage): Promise<Measurement> {
  const agents = AGENTS[stage.form];
  const counter = await StatementCounter.open(stage.postgres.productUrl);
  stage.afterwards(() => counter.close());
  const product = await stage.startProduct({ databaseUrl: counter.url });
  const database = await connect(stage.postgres.productUrl);
  stage.afterwards(() => database.end());
  await holdRuns(product, 'model', 1); // the agent, the worker and the run that the others are copies of
  stage.say(`${agents} agents are made`);
  await fill(database, agents);
  const client = new JsonClient(product.url, product.apiKey);
  stage.afterwards(async () => client.close());
  const restMb = product.usage()?.rssMb ?? null;
  for (let warm = 0; warm < WARM_LOOKS; warm += 1) await look(product, client, counter, restMb);
  const looks: Look[] = [];
  while (looks.length < rounds(stage.form)) {
    stage.say(`look ${looks.length + 1} of ${rounds(stage.form)}`);
    looks.push(await look(product, client, counter, restMb));
  }
  const { length, bytes } = await listed(client);
  if (length !== agents + 1) throw new Error(`${agents + 1} agents were made, ${length} are shown`);
  return { figures: figures(looks), notes: notes(looks, length, bytes) };
}

/** Each a copy of the one row of its kind, with names of its own. */
const COPIES = [
  `INSERT INTO agent SELECT made.* FROM agent AS a, generate_series(1, $1::int) AS g,
          jsonb_populate_record(a, jsonb_build_object('id', 'agent_bench_' || g, 'handle', 'bench-' || g)) AS made
    WHERE a.handle = 'model'`,
  `INSERT INTO worker SELECT made.* FROM worker AS w, generate_series(1, $1::int) AS g, generate_series(1, ${WORKERS_AN_AGENT}) AS n,
          jsonb_populate_record(w, jsonb_build_object('id', 'wrk_bench_' || g || '_' || n, 'agent_id', 'agent_bench_' || g)) AS made`,
  `INSERT INTO run SELECT made.* FROM run AS r, generate_series(1, $1::int) AS g, generate_series(1, ${RUNS_AN_AGENT}) AS n,
          LATERAL (SELECT 'run_bench_' || g || '_' || n AS id, r.created_at - n * interval '1 minute' AS at) AS own,
          json_populate_record(r, json_build_object('id', own.id, 'agent_id', 'agent_bench_' || g, 'thread_id', own.id, 'event_id', own.id,
            'worker_id', CASE WHEN n NOT IN (2, 3) THEN 'wrk_bench_' || g || '_1' END, 'slot', CASE WHEN n = 1 THEN 0 END,
            'status', CASE WHEN n = 1 THEN 'running' WHEN n IN (2, 3) THEN 'queued' ELSE 'succeeded' END,
            'created_at', own.at, 'finished_at', CASE WHEN n > 3 THEN own.at END)) AS made`,
];

/** Without its triggers: what they note of the end of a run is of no use to a list. */
async function fill(database: pg.Client, agents: number): Promise<void> {
  await database.query(`SET synchronous_commit = off; SET session_replication_role = replica`);
  for (const text of COPIES) await database.query(text, [agents]);
  await database.query(`RESET session_replication_role; RESET synchronous_commit`);
  await database.query('VACUUM ANALYZE agent, worker, run');
}

/** `restMb`: what the server held before anybody looked. */
async function look(product: Product, client: JsonClient, counter: StatementCounter, restMb: number | null) {
  const before = product.usage();
  let highest = 0;
  const timer = setInterval(() => (highest = Math.max(highest, product.usage()?.rssMb ?? 0)), RSS_EVERY_MS);
  const startedAt = performance.now();
  const statements = await counter.ofTheLargest(() => listed(client));
  const ms = performance.now() - startedAt;
  clearInterval(timer);
  const growthMb = restMb === null ? null : highest - restMb;
  const cpuMs = before && (product.usage()?.cpuMs ?? Number.NaN) - before.cpuMs;
  return { ms, statements, growthMb, cpuMs } satisfies Look;
}

async function listed(client: JsonClient): Promise<{ length: number; bytes: number }> {
  const { status, body, head } = await client.send('GET', '/api/v1/agents');
  if (status !== 200 || !Array.isArray(body)) throw new Error(`GET /agents: ${status}`);
  return { length: body.length, bytes: Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? Number.NaN) };
}

function notes(looks: readonly Look[], agents: number, bytes: number): readonly string[] {
  const cpu = looks.flatMap(({ cpuMs }) => cpuMs ?? []);
  const size = `${agents} agents, ${(bytes / 2 ** 20).toFixed(1)} MB of JSON`;
  return cpu.length > 0 ? [size, `${median(cpu).toFixed(0)} ms of the server’s CPU a look`] : [size];
}

function figures(looks: readonly Look[]): readonly Figure[] {
  const growths = looks.flatMap(({ growthMb }) => growthMb ?? []);
  const of = (name: string, unit: string, limit: number, values: readonly number[]): Figure =>
    alone({ name, unit, target: { of: 'product', is: 'at most', limit } }, values);
  return [
    of(
      'the whole list',
      'ms',
      3_000,
      looks.map(({ ms }) => ms),
    ),
    of(
      'statements, BEGIN and COMMIT included',
      '',
      5,
      looks.map(({ statements }) => statements),
    ),
    ...(growths.length > 0 ? [of('memory above what the server held', 'MB', 100, growths)] : []),
  ];
}
