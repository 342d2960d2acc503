import { randomUUID } from 'node:crypto';
import { JsonClient, isObject, type JsonObject } from '../client/json-client.ts';
import { readFrames } from '../client/frame-stream.ts';
import { holdRuns } from '../flood/held-run.ts';
import type { HeldRun } from '../flood/orders.ts';
import { atRate } from '../pace.ts';
import { rounds } from '../pairs.ts';
import { alone, type Figure } from '../report/figure.ts';
import type { Form, Measurement, Row } from '../row.ts';
import type { Product } from '../stage/product.ts';
import type { Stage } from '../stage/stage.ts';
import { quantile } from '../statistics.ts';

const RUNS = 4;
const EVENTS_A_BATCH = 50;
const BATCHES_PER_SECOND = 40;
const SECONDS: Readonly<Record<Form, number>> = { full: 15, short: 5 };
const WARM_UP_SECONDS = 4;
/** How long the last events may be on their way. */
const LAST_MS = 10_000;

/** B-5: how soon somebody who watches a run sees what its worker sent. */
export const liveEvents: Row = {
  id: 'B-5',
  work: 'event visible to a live subscriber at 2,000 events a second',
  inShortForm: false,
  measure,
};

async function measure(stage: Stage): Promise<Measurement> {
  const product = await stage.startProduct();
  const { token, runs } = await holdRuns(product, 'watched', RUNS);
  const audience = await Audience.gather(product, runs);
  const worker = new JsonClient(product.url, token);
  stage.afterwards(async () => {
    audience.leave();
    worker.close();
  });
  stage.say('warming up');
  await drive(audience, { worker, runs, seconds: WARM_UP_SECONDS });
  await stage.postgres.settle();
  const measured: (readonly number[])[] = [];
  while (measured.length < rounds(stage.form)) {
    stage.say(`round ${measured.length + 1} of ${rounds(stage.form)}`);
    measured.push(await drive(audience, { worker, runs, seconds: SECONDS[stage.form] }));
  }
  return {
    figures: figures(measured),
    notes: [`${RUNS} runs with a subscriber each, ${EVENTS_A_BATCH} events a batch`],
  };
}

/** Those who watch, one for each run. */
class Audience {
  /** Milliseconds from when the batch of an event was due until the event was here. */
  delays: number[] = [];
  private readonly streams: { destroy(): void }[] = [];

  static async gather(product: Product, runs: readonly HeldRun[]): Promise<Audience> {
    const audience = new Audience();
    for (const { runId } of runs) {
      const stream = await new JsonClient(product.url, product.apiKey).stream(`/api/v1/runs/${runId}/stream`);
      stream.on('error', () => {}); // it is closed from here
      readFrames(stream, (data) => audience.see(data));
      audience.streams.push(stream);
    }
    return audience;
  }

  leave(): void {
    for (const stream of this.streams) stream.destroy();
  }

  private see({ content }: JsonObject): void {
    const dueAt = typeof content === 'string' ? Number(/^due (\S+)/.exec(content)?.[1]) : Number.NaN;
    if (!Number.isNaN(dueAt)) this.delays.push(performance.now() - dueAt);
  }
}

interface Load {
  readonly worker: JsonClient;
  readonly runs: readonly HeldRun[];
  readonly seconds: number;
}

/** @throws Error when an event was not stored, or never seen. */
async function drive(audience: Audience, { worker, runs, seconds }: Load): Promise<readonly number[]> {
  audience.delays = [];
  let batch = 0;
  await atRate({ perSecond: BATCHES_PER_SECOND, seconds }, async (dueAt) => {
    const run = runs[batch++ % runs.length];
    if (!run) throw new Error('there is no run');
    const answer = await worker.call('POST', `/api/v1/runs/${run.runId}/events`, batchOf(run, dueAt));
    if (isObject(answer) && answer['ingested'] !== undefined && answer['ingested'] !== EVENTS_A_BATCH)
      throw new Error(`a batch was answered ${JSON.stringify(answer)}`);
  });
  const sent = batch * EVENTS_A_BATCH;
  for (const until = performance.now() + LAST_MS; audience.delays.length < sent && performance.now() < until;)
    await new Promise((resolve) => setTimeout(resolve, 20));
  if (audience.delays.length !== sent) throw new Error(`${sent} events were sent, ${audience.delays.length} seen`);
  return audience.delays;
}

function batchOf({ workerId }: HeldRun, dueAt: number): JsonObject {
  const eventId = `evt_${randomUUID()}`;
  const events = Array.from({ length: EVENTS_A_BATCH }, (_, index) => ({
    event_type: 'log.created',
    event_id: eventId,
    event_sequence: index + 1,
    timestamp: new Date().toISOString(),
    content: `due ${dueAt} ${'x'.repeat(100)}`,
  }));
  return { worker_id: workerId, events };
}

function figures(measured: readonly (readonly number[])[]): readonly Figure[] {
  const at = (name: string, p: number, limit: number): Figure =>
    alone(
      { name, unit: 'ms', target: { of: 'product', is: 'at most', limit } },
      measured.map((delays) => quantile(delays, p)),
    );
  return [at('p50', 0.5, 50), at('p99', 0.99, 250)];
}
