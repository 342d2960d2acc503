import pg from 'pg';
import { Crew } from '../client/crew.ts';
import { EVENTS_A_BATCH, flood } from '../flood/flood.ts';
import { holdRuns } from '../flood/held-run.ts';
import type { FloodOrder, FloodTally } from '../flood/orders.ts';
import { atRate } from '../pace.ts';
import { rounds } from '../pairs.ts';
import { alone, type Figure } from '../report/figure.ts';
import type { Form, Measurement, Row } from '../row.ts';
import type { Product } from '../stage/product.ts';
import type { Stage } from '../stage/stage.ts';
import { median, quantile } from '../statistics.ts';

/** As often as the server can take. */
const OVERLOAD = 5;
const FLOOD_SECONDS: Readonly<Record<Form, number>> = { full: 60, short: 20 };
/** How long the other account's dispatch is measured alone. */
const ALONE_SECONDS: Readonly<Record<Form, number>> = { full: 20, short: 10 };
/** The capacity is what is stored while so few connections send as fast as they are answered. */
const CAPACITY_SECONDS = 6;
const CAPACITY_CONNECTIONS = 8;
const FLOOD_CONNECTIONS = 256;
const FLOODED_RUNS = 8;
/** Of the other account, whose dispatch is watched. */
const INVOKES_PER_SECOND = 10;
const WORKERS = 10;
const WATCH_SECONDS = 8;
const RSS_EVERY_MS = 100;

/** One dispatch: when it was due, and milliseconds from then until its worker's start was answered. */
interface Sample {
  readonly dueAt: number;
  readonly ms: number;
}

interface Round {
  readonly tally: FloodTally;
  readonly alone: readonly Sample[];
  readonly flooded: readonly Sample[];
  readonly rssMb: number;
  /** From the last answer of the flood until the last dispatch that was slower than twice the slowest percent alone. */
  readonly normalAfterSeconds: number;
  /** Batches in the database beyond those answered as stored; below zero: lost. */
  readonly unaccounted: number;
}

/** B-7: whether one account's flood is turned away cheaply, and by it alone. */
export const overload: Row = {
  id: 'B-7',
  work: 'ingest at five times what the server can take; another account’s dispatch beside it',
  inShortForm: false,
  measure,
};

async function measure(stage: Stage): Promise<Measurement> {
  const product = await stage.startProduct();
  const crew = await Crew.join(await product.asAccount('neighbour'), { size: WORKERS, sendsEvents: false });
  stage.afterwards(() => crew.leave());
  const { token, runs } = await holdRuns(product, 'flood', FLOODED_RUNS);
  const order = { url: product.url, token, runs, connections: CAPACITY_CONNECTIONS, perSecond: null };
  stage.say('warming up, and what the server can take');
  await dispatch(crew, ALONE_SECONDS[stage.form]);
  await flood({ ...order, seconds: CAPACITY_SECONDS });
  await stage.postgres.settle();
  const closed = await flood({ ...order, seconds: CAPACITY_SECONDS });
  const capacity = closed.stored / closed.seconds;
  const measured: Round[] = [];
  while (measured.length < rounds(stage.form)) {
    stage.say(
      `round ${measured.length + 1} of ${rounds(stage.form)}: ${(OVERLOAD * capacity).toFixed(0)} batches a second`,
    );
    const flooding = { ...order, connections: FLOOD_CONNECTIONS, perSecond: OVERLOAD * capacity };
    measured.push(
      await floodOnce(stage, { product, crew, order: { ...flooding, seconds: FLOOD_SECONDS[stage.form] } }),
    );
  }
  return { figures: figures(measured), notes: notes(measured, capacity) };
}

interface Scene {
  readonly product: Product;
  readonly crew: Crew;
  readonly order: FloodOrder;
}

async function floodOnce(stage: Stage, { product, crew, order }: Scene): Promise<Round> {
  await stage.postgres.settle();
  const aloneSamples = await dispatch(crew, ALONE_SECONDS[stage.form]);
  const storedBefore = await batchesIn(stage, order);
  let rssMb = 0;
  const timer = setInterval(() => (rssMb = Math.max(rssMb, product.usage()?.rssMb ?? Number.NaN)), RSS_EVERY_MS);
  try {
    const [tally, flooded] = await Promise.all([flood(order), dispatch(crew, order.seconds)]);
    const endedAt = performance.now();
    const after = await dispatch(crew, WATCH_SECONDS);
    const limit = 2 * p99(aloneSamples);
    const lastSlow = after.findLast(({ ms }) => ms > limit);
    return {
      tally,
      alone: aloneSamples,
      flooded,
      rssMb,
      normalAfterSeconds: lastSlow === undefined ? 0 : (lastSlow.dueAt + lastSlow.ms - endedAt) / 1000,
      unaccounted: (await batchesIn(stage, order)) - storedBefore - tally.stored,
    };
  } finally {
    clearInterval(timer);
  }
}

/** Invokes of the other account, timed from when they were due. */
async function dispatch(crew: Crew, seconds: number): Promise<readonly Sample[]> {
  return crew.whileHealthy(
    atRate({ perSecond: INVOKES_PER_SECOND, seconds }, async (dueAt) => {
      const started = crew.startOf(await crew.invoke())?.started;
      if (started === undefined) throw new Error('a run was answered that nobody started');
      return { dueAt, ms: started - dueAt };
    }),
  );
}

/** Batches of the flood that the database holds. */
async function batchesIn(stage: Stage, { runs }: FloodOrder): Promise<number> {
  const client = new pg.Client({ connectionString: stage.postgres.productUrl });
  await client.connect();
  try {
    const text = `SELECT count(*)::float8 AS events FROM run_log WHERE type = 'log.created' AND run_id = ANY ($1)`;
    const { rows } = await client.query<{ events: number }>(text, [runs.map(({ runId }) => runId)]);
    return (rows[0]?.events ?? 0) / EVENTS_A_BATCH;
  } finally {
    await client.end();
  }
}

function p99(samples: readonly Sample[]): number {
  return quantile(
    samples.map(({ ms }) => ms),
    0.99,
  );
}

function figures(measured: readonly Round[]): readonly Figure[] {
  const of = (name: string, unit: string, limit: number, value: (round: Round) => number) =>
    alone({ name, unit, target: { of: 'product', is: 'at most', limit } }, measured.map(value));
  const rss = measured.every(({ rssMb }) => Number.isFinite(rssMb));
  return [
    of('other account: p99 to p99 alone', '×', 2, (round) => p99(round.flooded) / p99(round.alone)),
    ...(rss ? [of('RSS, highest', 'MB', 512, ({ rssMb }) => rssMb)] : []),
    of('back to normal', 's', 5, ({ normalAfterSeconds }) => normalAfterSeconds),
    of('sent, neither stored nor refused', 'batches', 0, ({ tally }) => tally.sent - tally.stored - tally.refused),
    of('stored, and answered otherwise', 'batches', 0, ({ unaccounted }) => Math.abs(unaccounted)),
    of('refused without Retry-After', 'batches', 0, ({ tally }) => tally.unexplained),
  ];
}

function notes(measured: readonly Round[], capacity: number): readonly string[] {
  const sum = (of: (tally: FloodTally) => number) => measured.reduce((total, { tally }) => total + of(tally), 0);
  const seconds = sum((tally) => tally.seconds);
  const at = (samples: (round: Round) => readonly Sample[]) =>
    median(measured.map((round) => p99(samples(round)))).toFixed(1);
  const due = sum(({ sent, heldBack }) => sent + heldBack);
  return [
    `capacity ${capacity.toFixed(0)} batches of ${EVENTS_A_BATCH} events a second, by ${CAPACITY_CONNECTIONS} connections that wait for their answers`,
    `${(due / seconds).toFixed(0)} batches a second were due: ${sum(({ stored }) => stored)} stored, ${sum(({ refused }) => refused)} refused, ${sum(({ heldBack }) => heldBack)} never sent because all of ${FLOOD_CONNECTIONS} connections waited`,
    `the other account’s dispatch: p99 ${at((round) => round.alone)} ms alone, ${at((round) => round.flooded)} ms beside the flood, ${INVOKES_PER_SECOND} a second`,
  ];
}
