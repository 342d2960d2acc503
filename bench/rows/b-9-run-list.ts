import type pg from 'pg';
import { JsonClient } from '../client/json-client.ts';
import { holdRuns } from '../flood/held-run.ts';
import { connect } from '../floors/floor-database.ts';
import { interleave, type Pair } from '../pairs.ts';
import { against, alone, type Figure } from '../report/figure.ts';
import type { Form, Measurement, Row } from '../row.ts';
import type { Stage } from '../stage/stage.ts';
import { quantile } from '../statistics.ts';

/** Ten million take some minutes and seven gigabytes. */
const RUNS: Readonly<Record<Form, number>> = { full: 10_000_000, short: 300_000 };
const RUNS_A_STATEMENT = 500_000;
/** The first of them is the one that asks. */
const ACCOUNTS = 20;
const AGENTS = 500;
const LOOKS: Readonly<Record<Form, number>> = { full: 200, short: 60 };
const PAGE = 50;
const AGENT = 'listed';
/** A run each second from here on; the day is the same for all, since no evidence is made. */
const BEGINNING = Date.UTC(2026, 0, 1);

/** A kind of page: what the product is asked, and what is asked of the same table without it. */
interface Kind {
  readonly name: string;
  readonly query: Readonly<Record<string, string>>;
  readonly condition: string;
}

const KINDS: readonly Kind[] = [
  { name: 'any page', query: {}, condition: 'true' },
  {
    name: 'of an agent',
    query: { agent_id: AGENT },
    condition: `agent_id = (SELECT id FROM agent WHERE handle = '${AGENT}')`,
  },
  { name: 'of a status', query: { status: 'failed' }, condition: `status = 'failed'` },
  { name: 'of a channel', query: { channel: 'webhook' }, condition: `channel = 'webhook'` },
];

/** Milliseconds of each look, by kind. */
type Looks = Readonly<Record<string, readonly number[]>>;

/** B-9: whether a page of a very long list costs what a page of a short one does. */
export const runList: Row = {
  id: 'B-9',
  work: 'run list, 10 million runs (short: 300,000), any page',
  inShortForm: false,
  measure,
};

async function measure(stage: Stage): Promise<Measurement> {
  const product = await stage.startProduct();
  const database = await connect(stage.postgres.productUrl);
  stage.afterwards(() => database.end());
  const accountId = await accountOf(database);
  const client = new JsonClient(product.url, product.apiKey);
  stage.afterwards(async () => client.close());
  await holdRuns(product, AGENT, 1); // so that there is an agent
  stage.say(`${RUNS[stage.form]} runs are made`);
  await fill(database, accountId, RUNS[stage.form]);
  await database.query('VACUUM ANALYZE run');
  const looks = LOOKS[stage.form];
  const when = () => new Date(BEGINNING + Math.random() * RUNS[stage.form] * 1_000).toISOString();
  const raw = () => timesOf(looks, (kind) => rawPage(database, accountId, kind, when()));
  const shown = () => timesOf(looks, (kind) => page(client, kind, when()));
  await raw();
  await shown();
  return { figures: figures(await interleave(stage, raw, shown)), notes: [`pages of ${PAGE} before a random time`] };
}

async function accountOf(database: pg.Client): Promise<string> {
  const { rows } = await database.query<{ account_id: string }>(
    `SELECT account_id FROM api_key ORDER BY created_at LIMIT 1`,
  );
  const [row] = rows;
  if (!row) throw new Error('there is no account');
  return row.account_id;
}

/** Every one is of one of twenty accounts and of one of its twenty-five agents. */
const FILL = `
  INSERT INTO run (account_id, id, day, agent_id, status, channel, origin_kind, created_by_kind, created_by, request_id, event_id, thread_id,
                   input, input_bytes, output, output_bytes, usage, error, end_code, attempt, last_seq, created_at, queued_at, claimed_at,
                   started_at, finished_at)
  SELECT CASE WHEN g % ${ACCOUNTS} = 0 THEN $3 ELSE 'acct_bench_' || g % ${ACCOUNTS} END, 'run_' || lpad(g::text, 26, '0'), DATE '2026-01-01',
         CASE WHEN g % ${AGENTS} = 0 THEN (SELECT id FROM agent WHERE handle = '${AGENT}') ELSE 'agent_' || g % ${AGENTS} END, status, (ARRAY['api', 'cron', 'webhook'])[1 + (g / ${ACCOUNTS}) % 3], 'rest', 'user', 'bench', 'req_bench',
         'evt_' || g, 'run_' || lpad((CASE WHEN g % 10 = 0 THEN g / 200 * 200 ELSE g END)::text, 26, '0'),
         json_build_object('prompt', repeat('x', 60)), 80, json_build_object('text', repeat('y', 80)), 100, '{"total_tokens": 10}',
         CASE WHEN status = 'failed' THEN 'RuntimeError: upstream ' || g % 90 END, 'end.' || status, 1, 9, at, at, at, at, at
    FROM generate_series($1::bigint, $2::bigint) AS g,
         LATERAL (SELECT (ARRAY['succeeded', 'succeeded', 'succeeded', 'failed', 'cancelled'])[1 + (g / 140) % 5] AS status,
                         TIMESTAMPTZ '2026-01-01Z' + g * INTERVAL '1 second' AS at) AS made`;

/** Without its triggers: what they note of the end of a run is of no use to a list. */
async function fill(database: pg.Client, accountId: string, runs: number): Promise<void> {
  await database.query(`SET synchronous_commit = off; SET session_replication_role = replica`);
  for (let from = 0; from < runs; from += RUNS_A_STATEMENT)
    await database.query(FILL, [from, Math.min(from + RUNS_A_STATEMENT, runs) - 1, accountId]);
  await database.query(`RESET session_replication_role; RESET synchronous_commit`);
}

async function rawPage(database: pg.Client, accountId: string, { name, condition }: Kind, before: string) {
  const text = `SELECT * FROM run WHERE account_id = $1 AND created_at <= $2 AND ${condition} ORDER BY created_at DESC, id DESC LIMIT ${PAGE}`;
  await database.query({ name, text, values: [accountId, before] });
}

async function page(client: JsonClient, { query }: Kind, to: string): Promise<void> {
  const search = new URLSearchParams({ ...query, to, limit: String(PAGE) });
  const { status } = await client.send('GET', `/api/v1/runs?${search}`);
  if (status !== 200) throw new Error(`GET /runs?${search}: ${status}`);
}

async function timesOf(looks: number, look: (kind: Kind) => Promise<void>): Promise<Looks> {
  const times: Record<string, number[]> = {};
  for (const kind of KINDS) {
    const taken: number[] = [];
    while (taken.length < looks) {
      const startedAt = performance.now();
      await look(kind);
      taken.push(performance.now() - startedAt);
    }
    times[kind.name] = taken;
  }
  return times;
}

function figures(pairs: readonly Pair<Looks, Looks>[]): readonly Figure[] {
  return KINDS.flatMap(({ name }) => {
    const at = (p: number) =>
      pairs.map(({ floor, product }) => ({
        floor: quantile(floor[name] ?? [], p),
        product: quantile(product[name] ?? [], p),
      }));
    const p99 = at(0.99).map(({ product }) => product);
    return [
      against({ name: `${name}, p50`, unit: 'ms', target: { of: 'ratio', is: 'at most', limit: 8 } }, at(0.5)),
      alone({ name: `${name}, p99`, unit: 'ms', target: { of: 'product', is: 'at most', limit: 50 } }, p99),
    ];
  });
}
