import { Crew } from '../client/crew.ts';
import { DoorbellFloor } from '../floors/doorbell-floor.ts';
import { interleave } from '../pairs.ts';
import { against } from '../report/figure.ts';
import type { Form, Measurement, Row } from '../row.ts';
import type { Stage } from '../stage/stage.ts';
import { median, quantile } from '../statistics.ts';

/** Samples of one pair. The full form judges the tail of each pair on a thousand. */
const SAMPLES: Readonly<Record<Form, number>> = { full: 1_000, short: 200 };
/** So many first, unmeasured: both sides compile what they run often. */
const WARM_UP: Readonly<Record<Form, number>> = { full: 300, short: 200 };

/** Milliseconds since the invoke was sent. */
interface Sample {
  readonly doorbell: number;
  readonly claimed: number;
  readonly started: number;
}

/** B-1: how long a caller's request takes to become a running run on an idle worker. */
export const invokeToStart: Row = {
  id: 'B-1',
  work: 'invoke → doorbell on an idle worker’s channel → claim and start answered',
  inShortForm: true,
  measure,
};

async function measure(stage: Stage): Promise<Measurement> {
  const floor = await DoorbellFloor.open(stage.postgres.floorUrl);
  stage.afterwards(() => floor.close());
  const crew = await Crew.join(await stage.startProduct(), { size: 1, sendsEvents: false });
  stage.afterwards(() => crew.leave());

  stage.say('warming up');
  await floor.measure(WARM_UP[stage.form]);
  await crew.whileHealthy(sample(crew, WARM_UP[stage.form]));
  await stage.postgres.settle();
  const polledBefore = crew.total(({ polledRuns }) => polledRuns);
  const count = SAMPLES[stage.form];
  const pairs = await interleave(
    stage,
    () => floor.measure(count),
    () => crew.whileHealthy(sample(crew, count)),
  );
  const polled = crew.total(({ polledRuns }) => polledRuns) - polledBefore;
  return {
    figures: figures(pairs),
    notes: notes(
      pairs.flatMap(({ product }) => product),
      polled,
    ),
  };
}

/** One invoke after the other, each on a worker that has nothing to do and has just been told so. */
async function sample(crew: Crew, count: number): Promise<readonly Sample[]> {
  const [worker] = crew.workers;
  if (worker === undefined) throw new Error('there is no worker');
  const samples: Sample[] = [];
  while (samples.length < count) {
    await worker.idle();
    const start = worker.nextStart();
    const sentAt = performance.now();
    const answer = crew.invoke();
    const [times] = await Promise.all([start, answer]);
    const { doorbell, claimed, started } = times;
    samples.push({ doorbell: doorbell - sentAt, claimed: claimed - sentAt, started: started - sentAt });
  }
  return samples;
}

function figures(pairs: readonly { readonly floor: readonly number[]; readonly product: readonly Sample[] }[]) {
  const at = (p: number) =>
    pairs.map(({ floor, product }) => ({
      floor: quantile(floor, p),
      product: quantile(
        product.map(({ started }) => started),
        p,
      ),
    }));
  return [
    against({ name: 'p50', unit: 'ms', target: { of: 'ratio', is: 'at most', limit: 5 } }, at(0.5)),
    against({ name: 'p99', unit: 'ms', target: { of: 'product', is: 'at most', limit: 25 }, guarded: false }, at(0.99)),
  ];
}

function notes(samples: readonly Sample[], polled: number): readonly string[] {
  const steps = (['doorbell', 'claimed', 'started'] as const).map((step) => {
    return `${step} ${median(samples.map((times) => times[step])).toFixed(2)}`;
  });
  return [
    `${samples.length} samples; medians since the invoke was sent: ${steps.join(', ')} ms`,
    `${polled} runs were found by the ten-second poll instead of a doorbell`,
  ];
}
