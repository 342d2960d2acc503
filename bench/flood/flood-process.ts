import { setTimeout as sleep } from 'node:timers/promises';
import { Connection, type Endpoint } from '../client/connection.ts';
import { EVENTS_A_BATCH } from './flood.ts';
import type { FloodOrder, FloodTally, HeldRun } from './orders.ts';

const MARK = '\0';

/** The batches of one flood. What is the same in all of them is made once: this process shares the machine with the server. */
class Batches {
  private readonly requests: readonly (readonly string[])[];
  private count = 0;

  constructor({ url, token, runs }: FloodOrder) {
    const { host } = new URL(url);
    this.requests = runs.map((run) => {
      const body = JSON.stringify(bodyOf(run)).replaceAll('"ID"', `"${MARK}"`);
      const size = Buffer.byteLength(body) + EVENTS_A_BATCH * (idOf(0).length - MARK.length);
      const head =
        `POST /api/v1/runs/${run.runId}/events HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${token}\r\n` +
        `Content-Type: application/json\r\nContent-Length: ${size}\r\n\r\n`;
      return (head + body).split(MARK);
    });
  }

  /** The next one: its events are of no batch before it. */
  next(): string {
    this.count += 1;
    const request = this.requests[this.count % this.requests.length] ?? [];
    return request.join(idOf(this.count));
  }
}

function bodyOf({ workerId }: HeldRun): object {
  const event = { event_type: 'log.created', level: 'INFO', logger: 'bench', content: 'x'.repeat(120), source: 'sdk' };
  const events = Array.from({ length: EVENTS_A_BATCH }, (_, index) => ({
    ...event,
    event_id: 'ID',
    event_sequence: index + 1,
    timestamp: new Date().toISOString(),
  }));
  return { worker_id: workerId, events };
}

/** Always of the same length. No JSON that is asked to print NUL prints it plain, so the mark stands nowhere else. */
function idOf(batch: number): string {
  return `evt_${process.pid.toString().padStart(8, '0')}_${batch.toString().padStart(10, '0')}`;
}

process.once('message', (order: FloodOrder) => {
  void run(order).then((tally) => process.send?.(tally));
});
process.once('disconnect', () => process.exit(0)); // the bench is over, however it ended

async function run(order: FloodOrder): Promise<FloodTally> {
  const { hostname: host, port } = new URL(order.url);
  const endpoint: Endpoint = { host, port: Number(port) };
  const batches = new Batches(order);
  const tally = { seconds: 0, sent: 0, stored: 0, refused: 0, unexplained: 0, failed: 0, heldBack: 0 };
  const idle: Connection[] = [];
  const underWay = new Set<Promise<void>>();
  const start = performance.now();
  const elapsed = () => (performance.now() - start) / 1000;

  const send = async (): Promise<void> => {
    const connection = idle.pop() ?? new Connection(endpoint);
    tally.sent += 1;
    try {
      const { status, head } = await connection.exchange(batches.next());
      if (status === 200) tally.stored += 1;
      else if (status === 429 || status === 503) {
        tally.refused += 1;
        if (!/\r\nretry-after: *\d/i.test(head)) tally.unexplained += 1;
      } else tally.failed += 1;
      if (!connection.closed) idle.push(connection);
    } catch {
      tally.failed += 1;
      connection.close();
    }
  };
  const begin = (): void => {
    const sending = send().finally(() => underWay.delete(sending));
    underWay.add(sending);
  };

  for (let due = 0; elapsed() < order.seconds;) {
    if (order.perSecond === null) {
      while (underWay.size < order.connections) begin();
      await Promise.race(underWay);
      continue;
    }
    for (; due < elapsed() * order.perSecond; due += 1) {
      if (underWay.size < order.connections) begin();
      else tally.heldBack += 1;
    }
    await sleep(1);
  }
  tally.seconds = elapsed();
  await Promise.all(underWay);
  for (const connection of idle) connection.close();
  return tally;
}
