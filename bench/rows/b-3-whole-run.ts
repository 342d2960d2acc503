import { Crew } from '../client/crew.ts';
import { WholeRunFloor } from '../floors/whole-run-floor.ts';
import { interleave, type Pair } from '../pairs.ts';
import { against, alone, type Figure } from '../report/figure.ts';
import type { Measurement, Row } from '../row.ts';
import type { Usage } from '../stage/processes.ts';
import type { Stage } from '../stage/stage.ts';
import { median } from '../statistics.ts';
import { CONCURRENCY, driveRuns, forSeconds, MUTATIONS_PER_RUN, SECONDS } from './whole-run-load.ts';

/** One side, once. CPU is in milliseconds a run; null where it cannot be read. */
interface Round {
  readonly runs: number;
  readonly perSecond: number;
  readonly postgresCpu: number | null;
  /** The server's; the floor has none. */
  readonly serverCpu: number | null;
  /** This program's: the load generator, and on the floor's side all the Node there is. */
  readonly ownCpu: number;
}

type Meter = () => Usage | null;

/** B-3: what a whole run costs when it does nothing itself. */
export const wholeRun: Row = {
  id: 'B-3',
  work: 'a whole no-op run: invoke → claim → start → 5 events → complete, 16 at a time',
  inShortForm: true,
  measure,
};

async function measure(stage: Stage): Promise<Measurement> {
  const floor = await WholeRunFloor.open(stage.postgres.floorUrl, CONCURRENCY);
  stage.afterwards(() => floor.close());
  const product = await stage.startProduct();
  const crew = await Crew.join(product, { size: CONCURRENCY, sendsEvents: true });
  stage.afterwards(() => crew.leave());

  const seconds = SECONDS[stage.form];
  const postgres = () => stage.postgres.usage();
  stage.say('warming up');
  await floor.drive(forSeconds(seconds / 2));
  await driveRuns(crew, forSeconds(seconds));
  await stage.postgres.settle();
  const emptyBefore = crew.total(({ emptyClaims }) => emptyClaims);
  const pairs = await interleave(
    stage,
    () =>
      metered(
        () => floor.drive(forSeconds(seconds)),
        postgres,
        () => null,
      ),
    () =>
      metered(
        () => driveRuns(crew, forSeconds(seconds)),
        postgres,
        () => product.usage(),
      ),
  );
  const emptyClaims = crew.total((worker) => worker.emptyClaims) - emptyBefore;
  return { figures: figures(pairs), notes: notes(pairs, emptyClaims) };
}

async function metered(drive: () => Promise<number>, postgres: Meter, server: Meter): Promise<Round> {
  const read = () => ({ at: performance.now(), postgres: postgres(), server: server(), own: process.cpuUsage() });
  const before = read();
  const runs = await drive();
  const after = read();
  const own = after.own.user + after.own.system - before.own.user - before.own.system;
  return {
    runs,
    perSecond: (runs * 1000) / (after.at - before.at),
    postgresCpu: perRun(before.postgres, after.postgres, runs),
    serverCpu: perRun(before.server, after.server, runs),
    ownCpu: own / 1000 / runs,
  };
}

function perRun(before: Usage | null, after: Usage | null, runs: number): number | null {
  return before === null || after === null ? null : (after.cpuMs - before.cpuMs) / runs;
}

function figures(pairs: readonly Pair<Round, Round>[]): readonly Figure[] {
  const rate = against(
    { name: 'runs a second', unit: '/s', target: { of: 'ratio', is: 'at least', limit: 0.25 } },
    pairs.map(({ floor, product }) => ({ floor: floor.perSecond, product: product.perSecond })),
  );
  const cpu = pairs.flatMap(({ floor, product }) => {
    if (floor.postgresCpu === null || product.postgresCpu === null || product.serverCpu === null) return [];
    return [{ floor: floor.postgresCpu + floor.ownCpu, product: product.postgresCpu + product.serverCpu }];
  });
  const server = pairs.flatMap(({ product }) =>
    product.serverCpu === null ? [] : [product.serverCpu / MUTATIONS_PER_RUN],
  );
  return [
    rate,
    ...(cpu.length === 0
      ? []
      : [
          against(
            { name: 'CPU a run, all processes', unit: 'ms', target: { of: 'product', is: 'at most', limit: 4 } },
            cpu,
          ),
        ]),
    ...(server.length === 0
      ? []
      : [
          alone(
            { name: 'server CPU a mutation', unit: 'ms', target: { of: 'product', is: 'at most', limit: 1.2 } },
            server,
          ),
        ]),
  ];
}

function notes(pairs: readonly Pair<Round, Round>[], emptyClaims: number): readonly string[] {
  const runs = pairs.reduce((sum, { product }) => sum + product.runs, 0);
  const middle = (of: (pair: Pair<Round, Round>) => number | null) => {
    const values = pairs.map(of).filter((value) => value !== null);
    return values.length === 0 ? 'not readable here' : `${median(values).toFixed(2)} ms`;
  };
  return [
    `CPU a run, product: server ${middle((p) => p.product.serverCpu)}, PostgreSQL ${middle((p) => p.product.postgresCpu)}; the client’s own, not counted: ${middle((p) => p.product.ownCpu)}`,
    `CPU a run, floor: PostgreSQL ${middle((p) => p.floor.postgresCpu)}, Node ${middle((p) => p.floor.ownCpu)}`,
    `a run is ${MUTATIONS_PER_RUN} mutations: invoke, claim, start, one batch of 5 events, complete`,
    `${runs} runs of the product, each executed exactly once; ${(emptyClaims / runs).toFixed(2)} empty claims a run`,
  ];
}
