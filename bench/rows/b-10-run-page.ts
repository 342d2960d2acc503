import { randomUUID } from 'node:crypto';
import { JsonClient, type JsonObject } from '../client/json-client.ts';
import { holdRuns } from '../flood/held-run.ts';
import type { HeldRun } from '../flood/orders.ts';
import { rounds } from '../pairs.ts';
import { alone, type Figure } from '../report/figure.ts';
import type { Form, Measurement, Row } from '../row.ts';
import type { Product } from '../stage/product.ts';
import type { Stage } from '../stage/stage.ts';
import { quantile } from '../statistics.ts';

const SPANS: Readonly<Record<Form, number>> = { full: 50_000, short: 50_000 };
const SPANS_A_BATCH = 250;
/** Spans below the first, each the parent of the next; the others hang there in turn. */
const DEPTH = 5_000;
const PAGE = 1_000;

/** Milliseconds of one look at the whole run. */
interface Look {
  readonly detail: number;
  readonly pages: readonly number[];
  readonly events: readonly number[];
}

/** B-10: whether a run of very many spans can be looked at. */
export const runPage: Row = {
  id: 'B-10',
  work: 'run page at 50,000 spans: the run, its skeleton by pages, its events by pages',
  inShortForm: false,
  measure,
};

async function measure(stage: Stage): Promise<Measurement> {
  const product = await stage.startProduct();
  const { token, runs } = await holdRuns(product, 'large', 1);
  const [run] = runs;
  if (!run) throw new Error('there is no run');
  stage.say(`${SPANS[stage.form]} spans are sent, children before parents`);
  await fill(product, { token, run, spans: SPANS[stage.form] });
  await stage.postgres.settle();
  const client = new JsonClient(product.url, product.apiKey);
  stage.afterwards(async () => client.close());
  await look(client, run.runId, SPANS[stage.form]);
  const looks: Look[] = [];
  while (looks.length < rounds(stage.form)) {
    stage.say(`look ${looks.length + 1} of ${rounds(stage.form)}`);
    looks.push(await look(client, run.runId, SPANS[stage.form]));
  }
  return { figures: figures(looks), notes: [`pages of ${PAGE}, each spans’ chain ${DEPTH} deep`] };
}

async function fill(product: Product, { token, run, spans }: { token: string; run: HeldRun; spans: number }) {
  const worker = new JsonClient(product.url, token);
  const eventId = `evt_${randomUUID()}`;
  const batches = Array.from({ length: Math.ceil(spans / SPANS_A_BATCH) }, (_, batch) => batch).toReversed();
  for (const batch of batches) {
    const events = Array.from({ length: Math.min(SPANS_A_BATCH, spans - batch * SPANS_A_BATCH) }, (_, index) =>
      edgesOf(batch * SPANS_A_BATCH + index, eventId),
    ).flat();
    await worker.call('POST', `/api/v1/runs/${run.runId}/events`, { worker_id: run.workerId, events });
  }
  worker.close();
}

function edgesOf(span: number, eventId: string): readonly JsonObject[] {
  const common = { event_id: eventId, span_id: `span_${span}`, timestamp: new Date(span * 2).toISOString() };
  const parent = span === 0 ? {} : { parent_span_id: `span_${(span - 1) % DEPTH}` };
  const payload = { tool_input: { text: `step ${span}`, words: 'some of them '.repeat(8) } };
  const start = { ...common, ...parent, event_type: 'span.started', kind: 'tool', name: `tool ${span % 20}`, payload };
  const end = { ...common, event_type: 'span.ended', status: 'ok', payload: { tool_response: 'done '.repeat(20) } };
  return [
    { ...start, event_sequence: 2 * span },
    { ...end, event_sequence: 2 * span + 1 },
  ];
}

/** @throws Error when not all spans are there. */
async function look(client: JsonClient, runId: string, spans: number): Promise<Look> {
  const path = `/api/v1/runs/${runId}`;
  const detail = await timed(client, path);
  const pages = await readAll(client, `${path}/spans?limit=${PAGE}`);
  const events = await readAll(client, `${path}/events?limit=${PAGE}`);
  if (pages.items !== spans) throw new Error(`${spans} spans were sent, ${pages.items} are shown`);
  return { detail: detail.ms, pages: pages.times, events: events.times };
}

async function readAll(client: JsonClient, path: string): Promise<{ items: number; times: readonly number[] }> {
  const times: number[] = [];
  let items = 0;
  for (let cursor: string | undefined = ''; cursor !== undefined;) {
    const page = await timed(client, cursor === '' ? path : `${path}&cursor=${encodeURIComponent(cursor)}`);
    times.push(page.ms);
    items += page.items;
    cursor = page.cursor;
  }
  return { items, times };
}

async function timed(client: JsonClient, path: string) {
  const startedAt = performance.now();
  const { status, head, body } = await client.send('GET', path);
  const ms = performance.now() - startedAt;
  if (status !== 200) throw new Error(`GET ${path}: ${status}`);
  return { ms, items: Array.isArray(body) ? body.length : 1, cursor: /\r\nx-next-cursor: *(\S+)/i.exec(head)?.[1] };
}

function figures(looks: readonly Look[]): readonly Figure[] {
  const of = (name: string, value: (look: Look) => number): Figure =>
    alone({ name, unit: 'ms', target: { of: 'product', is: 'at most', limit: 100 } }, looks.map(value));
  return [
    of('the run', ({ detail }) => detail),
    of('a page of spans, p99', ({ pages }) => quantile(pages, 0.99)),
    of('a page of events, p99', ({ events }) => quantile(events, 0.99)),
  ];
}
