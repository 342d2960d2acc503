import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { call } from '../app.ts';
import { scaled } from './factor.ts';

export interface LoadOptions {
  /** Addresses of the replicas; a client takes the next one when one does not answer. */
  readonly urls: () => readonly string[];
  readonly key: string;
  readonly handle: string;
  /** How many clients ask at once, each one thing after the other. */
  readonly clients?: number;
  /** Pause of a client between two answers, in milliseconds. */
  readonly pauseMs?: number;
  /** `runs` queues and goes on, `invoke` waits for the end; `both` in turn. */
  readonly by?: 'runs' | 'invoke' | 'both';
  /** Stop by itself after so many. */
  readonly total?: number;
  readonly input?: Readonly<Record<string, unknown>>;
}

/** An answer that was no success: its status, and whether it said when to come again. */
export interface Refusal {
  readonly status: number;
  readonly retryAfter: string | null;
  readonly text: string;
}

/**
 * Asks for runs as clients do: each request carries a key of its own, and is repeated with it on 5xx, 429 and a broken
 * connection until it is answered. So whatever was accepted is known here, and is one run.
 */
export class Load {
  /** Ids of all runs that were accepted. */
  readonly accepted = new Set<string>();
  /** What an invoke was told at the end of its run. */
  readonly told = new Map<string, string>();
  readonly refusals: Refusal[] = [];
  /** Connections that broke before an answer. */
  broken = 0;
  private readonly options: LoadOptions;
  private isOver = false;
  private asked = 0;
  private readonly clients: Promise<void>[];

  constructor(options: LoadOptions) {
    this.options = options;
    this.clients = Array.from({ length: options.clients ?? 8 }, (_, index) => this.client(index));
  }

  /** Asks for nothing new, and waits until everything that was asked for is answered. */
  async stop(): Promise<void> {
    this.isOver = true;
    await this.finished();
  }

  /** Waits until so many more runs have been accepted. */
  async more(runs: number): Promise<void> {
    const wanted = this.accepted.size + runs;
    while (this.accepted.size < wanted) await sleep(20);
  }

  /** Waits until `total` requests are answered. */
  async finished(): Promise<void> {
    await Promise.all(this.clients);
  }

  private async client(index: number): Promise<void> {
    const { by = 'runs', pauseMs = 5, total = Infinity } = this.options;
    for (let turn = 0; !this.isOver && this.asked < total; turn += 1) {
      this.asked += 1;
      const way = by === 'both' ? ((index + turn) % 2 === 0 ? 'runs' : 'invoke') : by;
      await this.untilAnswered(way, index + turn);
      await sleep(pauseMs);
    }
  }

  private async untilAnswered(way: 'runs' | 'invoke', first: number): Promise<void> {
    const key = `key-${randomUUID()}`;
    for (let turn = first; ; turn += 1) {
      const urls = this.options.urls();
      const answer = await this.askOnce(way, key, urls[turn % urls.length] ?? '');
      if (answer === 'broken') {
        this.broken += 1;
        await sleep(scaled(0.5));
        continue;
      }
      if (answer.status === 200) return this.keep(answer.json as Told, way);
      const retryAfter = answer.headers.get('retry-after');
      this.refusals.push({ status: answer.status, retryAfter, text: answer.text.slice(0, 300) });
      if (answer.status < 500 && answer.status !== 429) return;
      await sleep(scaled(Number(retryAfter ?? 1)));
    }
  }

  private async askOnce(way: 'runs' | 'invoke', key: string, url: string) {
    const { key: credential, handle, input = {} } = this.options;
    const request =
      way === 'runs'
        ? call(url, 'POST', '/api/v1/runs', {
            key: credential,
            body: { agent_id: handle, input },
            headers: { 'idempotency-key': key },
          })
        : call(url, 'POST', `/api/v1/agents/${handle}/invoke`, { key: credential, body: { input, event_id: key } });
    return request.catch(() => 'broken' as const);
  }

  private keep({ run_id: runId, status }: Told, way: 'runs' | 'invoke'): void {
    this.accepted.add(runId);
    if (way === 'invoke' && ENDS.includes(status)) this.told.set(runId, status);
  }
}

interface Told {
  readonly run_id: string;
  readonly status: string;
}

const ENDS = ['succeeded', 'failed', 'cancelled'];
