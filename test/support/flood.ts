/** A thread that floods a server without heeding any Retry-After: what it burns is not missing in the test that measures. */
import { randomUUID } from 'node:crypto';
import http from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';

/** One kind of request, sent again and again by each of so many connections. */
export interface Flood {
  readonly url: string;
  readonly path: string;
  readonly key: string;
  readonly connections: number;
  /** Sent with every `UNIQUE` replaced by something new. */
  readonly body: string;
}

/** What became of the requests. Failed are those without an answer. */
export interface Tally {
  readonly byStatus: Readonly<Record<number, number>>;
  readonly failed: number;
  /** 429 and 503 without a Retry-After. */
  readonly unexplained: number;
}

/** Between an answer and the next request: a sender that spins takes the processor, and not only the server. */
const PAUSE_MS = 30;

/** From the first request until it is a flood: the connections have to be made, and both sides compile. */
const BEGINNING_MS = 1_500;

const floods = workerData as readonly Flood[];
const byStatus: Record<number, number> = {};
let failed = 0;
let unexplained = 0;
const name = randomUUID();
let sent = 0;
let isOver = false;

parentPort?.once('message', () => (isOver = true));
setTimeout(() => parentPort?.postMessage('begun'), BEGINNING_MS);
await Promise.all(floods.flatMap((flood) => Array.from({ length: flood.connections }, () => keepSending(flood))));
parentPort?.postMessage({ byStatus, failed, unexplained } satisfies Tally);

async function keepSending(flood: Flood): Promise<void> {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  for (; !isOver; await sleep(PAUSE_MS)) await send(flood, agent);
  agent.destroy();
}

function send({ url, path, key, body }: Flood, agent: http.Agent): Promise<void> {
  const payload = body.replaceAll('UNIQUE', `${name} ${(sent += 1)}`);
  const headers = {
    authorization: `Bearer ${key}`,
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(payload),
  };
  return new Promise((resolve) => {
    const request = http.request(url + path, { method: 'POST', agent, headers }, (response) => {
      const status = response.statusCode ?? 0;
      byStatus[status] = (byStatus[status] ?? 0) + 1;
      if ((status === 429 || status === 503) && response.headers['retry-after'] === undefined) unexplained += 1;
      response.resume().once('close', resolve);
    });
    request.once('error', () => {
      failed += 1;
      resolve();
    });
    request.end(payload);
  });
}
