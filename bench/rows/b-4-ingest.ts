import { randomUUID } from 'node:crypto';
import { EVENTS_A_BATCH, flood } from '../flood/flood.ts';
import { holdRuns } from '../flood/held-run.ts';
import type { FloodOrder } from '../flood/orders.ts';
import { IngestFloor } from '../floors/ingest-floor.ts';
import { interleave, type Pair } from '../pairs.ts';
import { against, alone, type Figure } from '../report/figure.ts';
import type { Form, Measurement, Row } from '../row.ts';
import type { Stage } from '../stage/stage.ts';

const SECONDS: Readonly<Record<Form, number>> = { full: 8, short: 4 };
/** Each waits for its answer before it sends again. */
const CONNECTIONS = 8;
const RUNS = 8;
const COPIED_ROWS: Readonly<Record<Form, number>> = { full: 200_000, short: 100_000 };
/** As the batches hold it. */
const EVENT = { event_id: '', event_sequence: 0, event_type: 'log.created', content: 'x'.repeat(120) };

/** Events a second, by HTTP and by COPY. */
interface Floor {
  readonly http: number;
  readonly copy: number;
}

/** B-4: what it costs that an event is checked, numbered, known again and shown, over storing it. */
export const ingest: Row = {
  id: 'B-4',
  work: 'run events ingested, 100 a request, answered after the commit',
  inShortForm: true,
  measure,
};

async function measure(stage: Stage): Promise<Measurement> {
  const floor = await IngestFloor.start(stage.postgres.floorUrl);
  stage.afterwards(() => floor.stop());
  const product = await stage.startProduct();
  const { token, runs } = await holdRuns(product, 'ingest', RUNS);
  const common = { connections: CONNECTIONS, seconds: SECONDS[stage.form], perSecond: null };
  const ofProduct: FloodOrder = { ...common, url: product.url, token, runs };
  const strangers = runs.map(({ workerId }) => ({ runId: randomUUID(), workerId }));
  const ofFloor: FloodOrder = { ...common, url: floor.url, token: '', runs: strangers };
  const copy = () => floor.copy(COPIED_ROWS[stage.form], { ...EVENT, timestamp: new Date().toISOString() });
  stage.say('warming up');
  await eventsPerSecond(ofFloor);
  await eventsPerSecond(ofProduct);
  await copy();
  await stage.postgres.settle();
  const cpu = () => ({ server: product.usage()?.cpuMs ?? 0, postgres: stage.postgres.usage()?.cpuMs ?? 0 });
  const used = { server: 0, postgres: 0, events: 0 };
  const pairs = await interleave(
    stage,
    async (): Promise<Floor> => ({ http: await eventsPerSecond(ofFloor), copy: await copy() }),
    async () => {
      const before = cpu();
      const rate = await eventsPerSecond(ofProduct);
      const after = cpu();
      used.server += after.server - before.server;
      used.postgres += after.postgres - before.postgres;
      used.events += rate * SECONDS[stage.form];
      return rate;
    },
  );
  const each = (milliseconds: number) => ((milliseconds * 1_000) / used.events).toFixed(1);
  return {
    figures: figures(pairs),
    notes: [
      `${CONNECTIONS} connections, ${RUNS} runs; CPU an event: server ${each(used.server)} µs, PostgreSQL ${each(used.postgres)} µs`,
    ],
  };
}

/** @throws Error when a batch was not stored. */
async function eventsPerSecond(order: FloodOrder): Promise<number> {
  const { stored, sent, seconds } = await flood(order);
  if (stored !== sent) throw new Error(`${sent} batches were sent, ${stored} stored`);
  return (stored * EVENTS_A_BATCH) / seconds;
}

function figures(pairs: readonly Pair<Floor, number>[]): readonly Figure[] {
  const to = (of: keyof Floor) => pairs.map(({ floor, product }) => ({ floor: floor[of], product }));
  const name = { http: 'rate, to bare HTTP', copy: 'rate, to COPY' };
  return [
    against({ name: name.http, unit: 'events/s', target: { of: 'ratio', is: 'at least', limit: 0.6 } }, to('http')),
    against({ name: name.copy, unit: 'events/s', target: { of: 'ratio', is: 'at least', limit: 0.2 } }, to('copy')),
    alone(
      { name: 'rate', unit: 'events/s', target: { of: 'product', is: 'at least', limit: 10_000 } },
      pairs.map(({ product }) => product),
    ),
  ];
}
