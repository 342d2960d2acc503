import { setTimeout as sleep } from 'node:timers/promises';
import { Crowd } from '../crowd/crowd.ts';
import { makeAgents } from '../crowd/gather.ts';
import type { CrowdAgent } from '../crowd/orders.ts';
import { ChannelFloor } from '../floors/channel-floor.ts';
import { interleave, type Pair } from '../pairs.ts';
import { against, alone, type Figure } from '../report/figure.ts';
import type { Form, Measurement, Row } from '../row.ts';
import { descriptorLimit, type MemoryAnswer } from '../stage/processes.ts';
import type { Product } from '../stage/product.ts';
import { StatementCounter } from '../stage/statement-counter.ts';
import type { Stage } from '../stage/stage.ts';
import { median } from '../statistics.ts';

const WORKERS: Readonly<Record<Form, number>> = { full: 10_000, short: 1_000 };
/** Each worker has a channel and a connection for what it says, and some have two of these. */
const CONNECTIONS_A_WORKER = 2.2;
const OTHER_DESCRIPTORS = 200;
const WORKERS_AN_AGENT = 1_000;
/** The first fifth of the channels is there when memory is first looked at: it pays for what all of them share. */
const WARM_SHARE = 0.2;
const SETTLE_SECONDS = 2;
/** Whole turns of the workers' ten seconds. */
const WINDOW_SECONDS: Readonly<Record<Form, number>> = { full: 20, short: 10 };
const BASELINE_SECONDS = 5;
/** Below it, the pages that a heap takes ahead weigh more than the channels: then only what is alive in it is held against a target. */
const ENOUGH_FOR_RSS = 4_000;
/** The target's number, to which the CPU of fewer workers is scaled. */
const TARGET_WORKERS = 10_000;

/** What the product's side of a pair found. CPU in cores; null where it cannot be read. */
interface Idling {
  readonly bytes: MemoryAnswer;
  readonly serverCpu: number | null;
  readonly postgresCpu: number | null;
  /** The part of `serverCpu` that a server without workers needs as well. */
  readonly serverCpuAlone: number | null;
  readonly claims: number;
  readonly pongs: number;
  /** Beyond those of the same workers while they only answered pings. */
  readonly statements: number;
}

/** B-6: what workers cost that have nothing to do. */
export const idleWorkers: Row = {
  id: 'B-6',
  work: 'idle workers of a modern SDK: memory a channel, CPU, statements for an idle claim',
  inShortForm: true,
  measure,
};

async function measure(stage: Stage): Promise<Measurement> {
  const limit = descriptorLimit();
  const possible = Math.floor((limit - OTHER_DESCRIPTORS) / CONNECTIONS_A_WORKER);
  const workers = Math.min(WORKERS[stage.form], possible);
  const pairs = await interleave(
    stage,
    () => floorRound(stage, workers),
    () => productRound(stage, workers),
  );
  const cut =
    workers < WORKERS[stage.form] ? [`no more workers than these: a process may have ${limit} files open here`] : [];
  return { figures: figures(pairs, workers), notes: [...notes(pairs, workers), ...cut] };
}

async function floorRound(stage: Stage, workers: number): Promise<MemoryAnswer> {
  const floor = await ChannelFloor.start();
  stage.afterwards(() => floor.stop());
  const crowd = startCrowd(stage);
  const bytes = await bytesAChannel(crowd, { url: floor.url, memory: () => floor.memory() }, NOBODY, workers);
  await crowd.kill();
  await floor.stop();
  return bytes;
}

async function productRound(stage: Stage, workers: number): Promise<Idling> {
  const counter = await StatementCounter.open(stage.postgres.productUrl);
  stage.afterwards(() => counter.close());
  const product = await stage.startProduct({ isProbed: true, databaseUrl: counter.url });
  const overWindow = (seconds: number) => usedIn(seconds, stage, product, counter);
  const agents = await makeAgents(product, 'idle', Math.ceil(workers / WORKERS_AN_AGENT));
  await sleep(SETTLE_SECONDS * 1000);
  const alone = await overWindow(BASELINE_SECONDS);
  const crowd = startCrowd(stage);
  const bytes = await bytesAChannel(crowd, product, agents, workers);
  await crowd.ask({ do: 'register' });
  await sleep(SETTLE_SECONDS * 1000);
  const answeringPings = await overWindow(BASELINE_SECONDS);
  stage.say('all of them ask for work');
  const before = await crowd.ask({ do: 'work' });
  const idling = await overWindow(WINDOW_SECONDS[stage.form]);
  const after = await crowd.ask({ do: 'count' });
  if (after.failures > before.failures || after.open < workers)
    throw new Error(`the crowd was disturbed: ${JSON.stringify(after)}`);
  await crowd.kill();
  await product.stop();
  await counter.close();
  return {
    bytes,
    serverCpu: idling.server,
    postgresCpu: idling.postgres,
    serverCpuAlone: alone.server,
    claims: after.emptyClaims - before.emptyClaims,
    pongs: after.pongs - before.pongs,
    statements: (idling.statementsPerSecond - answeringPings.statementsPerSecond) * WINDOW_SECONDS[stage.form],
  };
}

/** The floor does not look at tokens. */
const NOBODY: readonly CrowdAgent[] = [{ handle: 'nobody', token: 'none' }];

function startCrowd(stage: Stage): Crowd {
  const crowd = Crowd.start();
  stage.afterwards(() => crowd.kill());
  return crowd;
}

/** Bytes for each channel beyond the first fifth, while nothing is said but pings. */
async function bytesAChannel(
  crowd: Crowd,
  { url, memory }: { readonly url: string; readonly memory: () => Promise<MemoryAnswer> },
  agents: readonly CrowdAgent[],
  workers: number,
): Promise<MemoryAnswer> {
  const warm = Math.ceil(workers * WARM_SHARE);
  const upTo = async (count: number): Promise<MemoryAnswer> => {
    await crowd.ask({ do: 'open', url, agents, conduct: 'completes it', upTo: count });
    await sleep(SETTLE_SECONDS * 1000);
    return memory();
  };
  const before = await upTo(warm);
  const after = await upTo(workers);
  const each = (of: (memory: MemoryAnswer) => number) => (of(after) - of(before)) / (workers - warm);
  return { rss: each(({ rss }) => rss), live: each(({ live }) => live) };
}

/** CPU in cores, and statements, while so many seconds go by. */
async function usedIn(seconds: number, { postgres }: Stage, product: Product, counter: StatementCounter) {
  const read = () => ({
    at: performance.now(),
    statements: counter.statements,
    server: product.usage()?.cpuMs,
    postgres: postgres.usage()?.cpuMs,
  });
  const before = read();
  await sleep(seconds * 1000);
  const after = read();
  const share = (end: number | undefined, start: number | undefined) =>
    end === undefined || start === undefined ? null : (end - start) / (after.at - before.at);
  return {
    server: share(after.server, before.server),
    postgres: share(after.postgres, before.postgres),
    statementsPerSecond: ((after.statements - before.statements) * 1000) / (after.at - before.at),
  };
}

function figures(pairs: readonly Pair<MemoryAnswer, Idling>[], workers: number): readonly Figure[] {
  const products = pairs.map(({ product }) => product);
  const kilobytes = (of: (memory: MemoryAnswer) => number) =>
    pairs.map(({ floor, product }) => ({ floor: of(floor) / 1024, product: of(product.bytes) / 1024 }));
  const live = kilobytes(({ live }) => live);
  const rss = kilobytes(({ rss }) => rss);
  const cpu = products.flatMap(({ serverCpu, serverCpuAlone }) => {
    if (serverCpu === null || serverCpuAlone === null) return [];
    return [100 * (serverCpuAlone + ((serverCpu - serverCpuAlone) * TARGET_WORKERS) / workers)];
  });
  const asked = products.map(({ statements, claims }) => Math.max(0, tenths(statements / claims)));
  return [
    against({ name: 'live memory a channel', unit: 'KB', target: { of: 'ratio', is: 'at most', limit: 2 } }, live),
    ...(workers < ENOUGH_FOR_RSS
      ? []
      : [
          against({ name: 'RSS a channel', unit: 'KB', target: { of: 'ratio', is: 'at most', limit: 2 } }, rss),
          alone(
            { name: 'RSS a channel, amount', unit: 'KB', target: { of: 'product', is: 'at most', limit: 20 } },
            rss.map(({ product }) => product),
          ),
        ]),
    ...(cpu.length === 0
      ? []
      : [
          alone(
            { name: 'server CPU, 10,000 workers', unit: '%', target: { of: 'product', is: 'at most', limit: 40 } },
            cpu,
          ),
        ]),
    alone({ name: 'statements an idle claim', unit: '', target: { of: 'product', is: 'at most', limit: 0 } }, asked),
  ];
}

/** What is asked once every two seconds for all workers of an agent is no claim's: a tenth is more than it can come to. */
function tenths(value: number): number {
  return Math.round(value * 10) / 10;
}

function notes(pairs: readonly Pair<MemoryAnswer, Idling>[], workers: number): readonly string[] {
  const middle = (of: (pair: Pair<MemoryAnswer, Idling>) => number | null) => {
    const values = pairs.map(of).filter((value) => value !== null);
    return values.length === 0 ? Number.NaN : median(values);
  };
  const kilobytes = (of: (pair: Pair<MemoryAnswer, Idling>) => number) => `${(middle(of) / 1024).toFixed(1)} KB`;
  const percent = (of: (idling: Idling) => number | null) =>
    `${(100 * middle(({ product }) => of(product))).toFixed(1)} %`;
  const count = (of: (idling: Idling) => number) => middle(({ product }) => of(product)).toFixed(0);
  return [
    `${workers} workers of ${Math.ceil(workers / WORKERS_AN_AGENT)} agents; memory after garbage collection, of all channels but the first fifth; live is objects and buffers; RSS: product ${kilobytes(({ product }) => product.bytes.rss)}, floor ${kilobytes(({ floor }) => floor.rss)}`,
    `CPU of one core with ${workers} workers: server ${percent((p) => p.serverCpu)} (${percent((p) => p.serverCpuAlone)} without workers), PostgreSQL ${percent((p) => p.postgresCpu)}`,
    `in the window ${count((p) => p.claims)} claims, ${count((p) => p.pongs)} pongs, each worker on a connection of its own that stays open, and ${count((p) => p.statements)} statements beyond those of the same workers when they only answered pings, counted on the way to PostgreSQL`,
  ];
}
