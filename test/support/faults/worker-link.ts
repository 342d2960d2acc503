import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { readEvents } from '../events.ts';
import type { WorkerOrders } from './worker-orders.ts';

export type Json = Record<string, unknown>;

export interface Frame {
  readonly id: string;
  readonly type: string;
  readonly payload: Json;
}

/** What the control plane answered instead of what was asked for. */
export class Refused extends Error {
  readonly status: number;

  constructor(status: number, text: string) {
    super(`${status}: ${text.slice(0, 300)}`);
    this.status = status;
  }

  /** Whether asking again is of no use. */
  get isFinal(): boolean {
    return this.status >= 400 && this.status < 500 && this.status !== 429;
  }
}

const ANSWER_SECONDS = 30;
/** How long something that must arrive is repeated. */
const PERSISTENCE_SECONDS = 120;

/** One worker's two ways to its control plane. Times are true lengths, made shorter by the factor. */
export class WorkerLink {
  private readonly base: string;
  private readonly orders: WorkerOrders;

  constructor(orders: WorkerOrders) {
    this.orders = orders;
    this.base = `${orders.url}/api/v1/workers/${orders.workerId}`;
  }

  milliseconds(seconds: number): number {
    return seconds * this.orders.factor * 1_000;
  }

  /** One try, and the payload of the reply. */
  async ask(type: string, payload: Json): Promise<Json> {
    return this.reply({ id: frameId(), type, payload, needsReply: true });
  }

  /** One try, no reply. */
  async tell(type: string, payload: Json, envelope: Json = {}): Promise<void> {
    await this.post({ id: frameId(), type, payload, ...envelope });
  }

  /** The same frame again and again until it is answered. @throws Refused when that is final. */
  async report(type: string, payload: Json): Promise<Json> {
    const frame = { id: frameId(), type, payload, needsReply: true };
    return this.persistently(() => this.reply(frame));
  }

  /** One batch of a numbered stream, until it is acknowledged. */
  async stream(type: string, payload: Json, envelope: Json): Promise<void> {
    const frame = { id: frameId(), type, payload, ...envelope };
    await this.persistently(() => this.post(frame));
  }

  /** Holds a channel until `signal` is aborted, a new one after each that broke. */
  async keepChannel(onFrame: (frame: Frame) => void, signal: AbortSignal): Promise<void> {
    for (let wait = 1; !signal.aborted;) {
      const wasOpen = await this.readChannel(onFrame, signal);
      wait = wasOpen ? 1 : Math.min(wait * 2, 5);
      await pause(this.milliseconds(wait), undefined, { signal }).catch(() => undefined);
    }
  }

  private async readChannel(onFrame: (frame: Frame) => void, signal: AbortSignal): Promise<boolean> {
    const silence = new AbortController();
    const timer = setTimeout(() => silence.abort(), this.milliseconds(this.orders.silenceSeconds));
    let isOpen = false;
    try {
      const response = await fetch(`${this.base}/channel`, {
        headers: { ...this.headers(), accept: 'text/event-stream' },
        signal: AbortSignal.any([signal, silence.signal]),
      });
      isOpen = response.ok;
      if (!response.ok || !response.body) throw new Refused(response.status, await response.text());
      for await (const { data } of readEvents(response.body)) {
        timer.refresh();
        onFrame(data as unknown as Frame);
      }
    } catch (error) {
      if (!signal.aborted) console.error(`the channel broke: ${String(error)}`);
    } finally {
      clearTimeout(timer);
    }
    return isOpen;
  }

  private async persistently<T>(attempt: () => Promise<T>): Promise<T> {
    const until = performance.now() + this.milliseconds(PERSISTENCE_SECONDS);
    for (let wait = 1; ; wait = Math.min(wait * 2, 8)) {
      try {
        return await attempt();
      } catch (error) {
        if ((error instanceof Refused && error.isFinal) || performance.now() > until) throw error;
      }
      await pause(this.milliseconds(wait));
    }
  }

  private async reply(frame: Json): Promise<Json> {
    const answer = JSON.parse(await this.post(frame)) as { readonly type?: string; readonly payload?: Json };
    if (answer.type === 'error' || !answer.payload) throw new Error(`answered by ${JSON.stringify(answer)}`);
    return answer.payload;
  }

  private async post(frame: Json): Promise<string> {
    const response = await fetch(`${this.base}/frames`, {
      method: 'POST',
      headers: { ...this.headers(), 'content-type': 'application/json' },
      body: JSON.stringify(frame),
      signal: AbortSignal.timeout(this.milliseconds(ANSWER_SECONDS)),
    });
    const text = await response.text();
    if (!response.ok) throw new Refused(response.status, text);
    return text;
  }

  private headers(): Record<string, string> {
    return { authorization: `Bearer ${this.orders.token}` };
  }
}

function frameId(): string {
  return `msg_${randomUUID().replaceAll('-', '')}`;
}
