import { setTimeout as sleep } from 'node:timers/promises';
import { Crew } from '../client/crew.ts';
import { rounds } from '../pairs.ts';
import { alone, type Figure } from '../report/figure.ts';
import type { Form, Measurement, Row } from '../row.ts';
import type { Product } from '../stage/product.ts';
import type { Stage } from '../stage/stage.ts';
import { median } from '../statistics.ts';
import { CONCURRENCY, driveRuns, forSeconds, SECONDS } from './whole-run-load.ts';

/** After the start, before idling counts: caches fill and PostgreSQL writes back what it holds. */
const SETTLE_SECONDS: Readonly<Record<Form, number>> = { full: 5, short: 3 };
/** Below ten seconds a clock tick is a tenth of the target. */
const IDLE_SECONDS: Readonly<Record<Form, number>> = { full: 15, short: 10 };
const RSS_EVERY_MS = 100;

/** One life of the server. */
interface Life {
  readonly readyAfterSeconds: number;
  readonly idleRssMb: number;
  readonly loadedRssMb: number;
  /** Shares of one core. */
  readonly serverIdle: number;
  readonly postgresIdle: number;
}

/** B-14: what an installation costs that has nothing to do, and how soon it is there. */
export const startAndIdle: Row = {
  id: 'B-14',
  work: 'server start to ready on an existing database; idle; memory under the load of B-3',
  inShortForm: true,
  measure,
};

async function measure(stage: Stage): Promise<Measurement> {
  stage.say('a first start, for a database that exists');
  const first = await stage.startProduct();
  await underLoad(first, 1);
  await first.stop();
  const lives: Life[] = [];
  while (lives.length < rounds(stage.form)) {
    stage.say(`start ${lives.length + 1}: idle for ${IDLE_SECONDS[stage.form]} s, then under load`);
    const product = await stage.startProduct();
    lives.push(await live(stage, product));
    await product.stop();
  }
  return { figures: figures(lives), notes: notes(lives) };
}

async function live(stage: Stage, product: Product): Promise<Life> {
  const seconds = IDLE_SECONDS[stage.form];
  await sleep(SETTLE_SECONDS[stage.form] * 1000);
  const before = readings(stage, product);
  await sleep(seconds * 1000);
  const after = readings(stage, product);
  const share = (end: number, start: number) => (end - start) / (after.at - before.at);
  return {
    readyAfterSeconds: product.readyAfterMs / 1000,
    idleRssMb: after.rss,
    loadedRssMb: await underLoad(product, SECONDS[stage.form]),
    serverIdle: share(after.server, before.server),
    postgresIdle: share(after.postgres, before.postgres),
  };
}

/** Without /proc (or with PostgreSQL elsewhere) what is not seen is not a number, and its figures are left out. */
function readings(stage: Stage, product: Product) {
  const server = product.usage();
  return {
    at: performance.now(),
    server: server?.cpuMs ?? Number.NaN,
    rss: server?.rssMb ?? Number.NaN,
    postgres: stage.postgres.usage()?.cpuMs ?? Number.NaN,
  };
}

/** The most memory the server held during the load of B-3. */
async function underLoad(product: Product, seconds: number): Promise<number> {
  const crew = await Crew.join(product, { size: CONCURRENCY, sendsEvents: true });
  let highest = Number.NEGATIVE_INFINITY;
  const timer = setInterval(() => {
    highest = Math.max(highest, product.usage()?.rssMb ?? Number.NaN);
  }, RSS_EVERY_MS);
  try {
    await driveRuns(crew, forSeconds(seconds));
    return highest;
  } finally {
    clearInterval(timer);
    await crew.leave();
  }
}

function figures(lives: readonly Life[]): readonly Figure[] {
  const of = (name: string, unit: string, limit: number, value: (life: Life) => number) => {
    const values = lives.map(value).filter((one) => Number.isFinite(one));
    return values.length === 0 ? [] : [alone({ name, unit, target: { of: 'product', is: 'at most', limit } }, values)];
  };
  return [
    ...of('start to ready', 's', 3, ({ readyAfterSeconds }) => readyAfterSeconds),
    ...of('RSS idle', 'MB', 300, ({ idleRssMb }) => idleRssMb),
    ...of('RSS under load', 'MB', 512, ({ loadedRssMb }) => loadedRssMb),
    ...of('CPU idle, PostgreSQL counted', '%', 1, ({ serverIdle, postgresIdle }) => 100 * (serverIdle + postgresIdle)),
  ];
}

function notes(lives: readonly Life[]): readonly string[] {
  const share = (value: (life: Life) => number) => `${(100 * median(lives.map(value))).toFixed(2)} %`;
  return [
    `idle CPU in percent of one core: server ${share((life) => life.serverIdle)}, PostgreSQL ${share((life) => life.postgresIdle)}; no worker connected`,
    'RSS is the server’s alone; ready is the first 200 of /readyz',
  ];
}
