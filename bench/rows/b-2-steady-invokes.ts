import { Crew } from '../client/crew.ts';
import { atRate } from '../pace.ts';
import { rounds } from '../pairs.ts';
import { alone, type Figure } from '../report/figure.ts';
import type { Form, Measurement, Row } from '../row.ts';
import type { Stage } from '../stage/stage.ts';
import { median, quantile } from '../statistics.ts';

const INVOKES_PER_SECOND = 200;
const WORKERS = 20;
/** Seconds of one round: its tail is judged on at least a thousand samples. */
const SECONDS: Readonly<Record<Form, number>> = { full: 15, short: 5 };
const WARM_UP_SECONDS = 5;

/** One invoke: milliseconds from when it was due until its worker's start was answered; undefined when it was lost on the way. */
type Sample = number | undefined;

/** B-2: whether a steady stream of invokes is dispatched in time, and all of it. */
export const steadyInvokes: Row = {
  id: 'B-2',
  work: 'invoke → doorbell → claim → start at 200 invokes a second, 20 workers',
  inShortForm: false,
  measure,
};

async function measure(stage: Stage): Promise<Measurement> {
  const crew = await Crew.join(await stage.startProduct(), { size: WORKERS, sendsEvents: false });
  stage.afterwards(() => crew.leave());
  stage.say('warming up');
  await drive(crew, WARM_UP_SECONDS);
  await stage.postgres.settle();
  const measured: (readonly Sample[])[] = [];
  while (measured.length < rounds(stage.form)) {
    stage.say(`round ${measured.length + 1} of ${rounds(stage.form)}`);
    measured.push(await drive(crew, SECONDS[stage.form]));
  }
  return { figures: figures(measured), notes: notes(crew, measured) };
}

/** @throws Error when a run was executed more than once, or one that nobody asked for. */
async function drive(crew: Crew, seconds: number): Promise<readonly Sample[]> {
  const before = crew.total(({ executed }) => executed.length);
  const ended = new Set<string>();
  const samples = await crew.whileHealthy(
    atRate({ perSecond: INVOKES_PER_SECOND, seconds }, async (dueAt) => {
      const runId = await crew.invoke().catch(() => undefined);
      if (runId === undefined) return undefined;
      ended.add(runId);
      const started = crew.startOf(runId)?.started;
      return started === undefined ? undefined : started - dueAt;
    }),
  );
  await crew.whileHealthy(Promise.all(crew.workers.map((worker) => worker.idle())));
  const executed = crew.total((worker) => worker.executed.length) - before;
  if (ended.size < executed) throw new Error(`${ended.size} runs were answered, ${executed} were executed`);
  return samples;
}

function arrived(samples: readonly Sample[]): readonly number[] {
  return samples.filter((sample) => sample !== undefined);
}

function figures(measured: readonly (readonly Sample[])[]): readonly Figure[] {
  const at = (p: number) => measured.map((samples) => quantile(arrived(samples), p));
  const lost = measured.map((samples) => samples.length - arrived(samples).length);
  return [
    alone({ name: 'p99', unit: 'ms', target: { of: 'product', is: 'at most', limit: 150 } }, at(0.99)),
    alone({ name: 'lost', unit: 'runs', target: { of: 'product', is: 'at most', limit: 0 } }, lost),
  ];
}

function notes(crew: Crew, measured: readonly (readonly Sample[])[]): readonly string[] {
  const all = measured.flat();
  const at = (p: number) => median(measured.map((samples) => quantile(arrived(samples), p))).toFixed(1);
  return [
    `${all.length} invokes sent, ${arrived(all).length} started and succeeded, each executed once; p50 ${at(0.5)}, p90 ${at(0.9)} ms`,
    'timed from when the invoke was due, not from when it was sent',
    `${crew.total(({ polledRuns }) => polledRuns)} runs were found by the ten-second poll instead of a doorbell`,
  ];
}
