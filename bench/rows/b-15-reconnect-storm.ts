import { setTimeout as sleep } from 'node:timers/promises';
import { invoke } from '../client/crew.ts';
import { JsonClient } from '../client/json-client.ts';
import { Crowd } from '../crowd/crowd.ts';
import { makeAgents } from '../crowd/gather.ts';
import type { CrowdAgent } from '../crowd/orders.ts';
import { atRate } from '../pace.ts';
import { rounds } from '../pairs.ts';
import { alone, type Figure } from '../report/figure.ts';
import type { Form, Measurement, Row } from '../row.ts';
import type { Product } from '../stage/product.ts';
import type { Stage } from '../stage/stage.ts';
import { StatementCounter } from '../stage/statement-counter.ts';
import { median, quantile } from '../statistics.ts';

const WORKERS: Readonly<Record<Form, number>> = { full: 5_000, short: 1_000 };
const WORKERS_AN_AGENT = 250;
const LOOK_EVERY_MS = 250;
/** A crowd that is not back by then is counted as it stands. */
const PATIENCE_SECONDS = 120;
const SETTLE_SECONDS = 5;
/** Dispatch afterwards: gentle, so that it is the storm's remains that are seen and no overload. */
const INVOKES_PER_SECOND = 20;
const DISPATCH_SECONDS = 10;
/** What the same machine executes in B-3 at its limit, about eight transactions of three statements a run. */
const MOST_STATEMENTS_PER_SECOND = 5_000;

/** One restart. */
interface Storm {
  /** Since the old server was told to end. */
  readonly readySeconds: number;
  readonly channelsSeconds: number;
  readonly backSeconds: number;
  readonly missing: number;
  /** Of the busiest second. */
  readonly statements: number;
  readonly statementsAWorker: number;
  /** From when an invoke was due until its whole run had ended. */
  readonly dispatchMs: readonly number[];
  readonly lost: number;
}

/** B-15: a server that comes back to a crowd. */
export const reconnectStorm: Row = {
  id: 'B-15',
  work: 'reconnect storm: a crowd of workers after a server restart, and dispatch afterwards',
  inShortForm: false,
  measure,
};

async function measure(stage: Stage): Promise<Measurement> {
  const workers = WORKERS[stage.form];
  const counter = await StatementCounter.open(stage.postgres.productUrl);
  stage.afterwards(() => counter.close());
  let product = await stage.startProduct({ databaseUrl: counter.url });
  const agents = await makeAgents(product, 'storm', Math.ceil(workers / WORKERS_AN_AGENT));
  const crowd = Crowd.start();
  stage.afterwards(() => crowd.kill());
  stage.say(`${workers} workers gather`);
  await crowd.ask({ do: 'open', url: product.url, agents, conduct: 'completes it', upTo: workers });
  await crowd.ask({ do: 'register' });
  await crowd.ask({ do: 'work' });
  const storms: Storm[] = [];
  while (storms.length < rounds(stage.form)) {
    await sleep(SETTLE_SECONDS * 1000);
    stage.say(`restart ${storms.length + 1} of ${rounds(stage.form)}`);
    const restarted = await restart(stage, product, { crowd, counter, workers });
    product = restarted.product;
    stage.say('dispatch afterwards');
    storms.push({ ...restarted.storm, ...(await dispatch(product, agents)) });
  }
  return { figures: figures(storms), notes: notes(storms, workers) };
}

/** Ends the server as an operator does, starts it again at the same address, and watches the crowd come back. */
async function restart(
  stage: Stage,
  old: Product,
  { crowd, counter, workers }: { readonly crowd: Crowd; readonly counter: StatementCounter; readonly workers: number },
) {
  const startedAt = performance.now();
  const since = () => (performance.now() - startedAt) / 1000;
  const before = counter.statements;
  await old.stop();
  const busiest = new BusiestSecond(() => counter.statements);
  const product = await stage.startProduct({ databaseUrl: counter.url, port: Number(new URL(old.url).port) });
  const readySeconds = since();
  const { channelsSeconds, back } = await untilBack(crowd, workers, since);
  const backSeconds = since();
  const statementsAWorker = (counter.statements - before) / workers;
  const statements = busiest.end();
  const storm = { readySeconds, channelsSeconds, backSeconds, missing: workers - back, statements, statementsAWorker };
  return { product, storm };
}

async function untilBack(crowd: Crowd, workers: number, since: () => number) {
  let channelsSeconds = Number.NaN;
  for (;;) {
    const { open, back } = await crowd.ask({ do: 'count' });
    if (open === workers && Number.isNaN(channelsSeconds)) channelsSeconds = since();
    if (back >= workers || since() >= PATIENCE_SECONDS) return { channelsSeconds, back };
    await sleep(LOOK_EVERY_MS);
  }
}

/** The most that a counter grew in one second. */
class BusiestSecond {
  private most = 0;
  private readonly timer: NodeJS.Timeout;

  constructor(count: () => number) {
    let last = { count: count(), at: performance.now() };
    this.timer = setInterval(() => {
      const now = { count: count(), at: performance.now() };
      this.most = Math.max(this.most, ((now.count - last.count) * 1000) / (now.at - last.at));
      last = now;
    }, 1_000);
  }

  end(): number {
    clearInterval(this.timer);
    return this.most;
  }
}

async function dispatch(product: Product, agents: readonly CrowdAgent[]) {
  const caller = new JsonClient(product.url, product.apiKey);
  let turn = 0;
  const times = await atRate({ perSecond: INVOKES_PER_SECOND, seconds: DISPATCH_SECONDS }, async (dueAt) => {
    const agent = agents[(turn += 1) % agents.length];
    const runId = await invoke(caller, agent?.handle ?? '').catch(() => undefined);
    return runId === undefined ? undefined : performance.now() - dueAt;
  });
  caller.close();
  const dispatchMs = times.filter((time) => time !== undefined);
  return { dispatchMs, lost: times.length - dispatchMs.length };
}

function figures(storms: readonly Storm[]): readonly Figure[] {
  const atMost = (name: string, unit: string, limit: number, of: (storm: Storm) => number) =>
    alone({ name, unit, target: { of: 'product', is: 'at most', limit } }, storms.map(of));
  return [
    atMost('all back', 's', 30, ({ backSeconds }) => backSeconds),
    atMost('not back', 'workers', 0, ({ missing }) => missing),
    atMost('dispatch afterwards, p99', 'ms', 500, ({ dispatchMs }) => quantile(dispatchMs, 0.99)),
    atMost('invokes lost', 'runs', 0, ({ lost }) => lost),
    atMost('busiest second', 'statements', MOST_STATEMENTS_PER_SECOND, ({ statements }) => statements),
  ];
}

function notes(storms: readonly Storm[], workers: number): readonly string[] {
  const middle = (of: (storm: Storm) => number) => median(storms.map(of)).toFixed(1);
  return [
    `${workers} workers; seconds since the old server was told to end: the new one ready ${middle((storm) => storm.readySeconds)}, all channels open ${middle((storm) => storm.channelsSeconds)}, every worker answered a claim ${middle((storm) => storm.backSeconds)}`,
    `a worker waits as its SDK does: for a channel 1 s and then twice as long after each failure, after a failed claim 10 s`,
    `${middle((storm) => storm.statementsAWorker)} statements a worker until all were back, BEGIN and COMMIT counted`,
    `dispatch: ${INVOKES_PER_SECOND} invokes a second over ${DISPATCH_SECONDS} s, from when one was due to the end of its run; p50 ${middle(({ dispatchMs }) => quantile(dispatchMs, 0.5))} ms`,
  ];
}
