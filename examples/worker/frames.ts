/**
 * The uplink of a worker: everything it says is one `POST …/frames` with a JSON envelope in the body.
 *
 * A frame that asks (`needsReply`) is answered by a frame; one that only tells is answered 202. A refusal for good
 * (most of 4xx) and a trouble that passes (429, 5xx, no connection) are kept apart: the second is worth another try,
 * and a second try carries the same frame id, so that the control plane knows it is not a second report.
 */

import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';

export type JsonObject = Record<string, unknown>;

/** The envelope. These are all keys it may have. */
export interface Frame {
  readonly id: string;
  readonly type: string;
  readonly payload: JsonObject;
  readonly needsReply?: boolean;
  /** The id of the frame that this one answers. */
  readonly correlationId?: string;
  /** `run_events` come in one stream per run, numbered from 0: a number that is missing shows a lost batch. */
  readonly stream?: string;
  readonly seq?: number;
}

export interface FrameLinkOptions {
  /** Base address of the control plane, e.g. `http://127.0.0.1:8080`. */
  readonly url: string;
  /** The worker token. It says which agent this worker serves. */
  readonly token: string;
  readonly workerId: string;
}

const ANSWER_TIMEOUT_MS = 30_000;
/** Pauses between the three tries of a frame that must arrive. */
const RETRY_PAUSES_MS = [2_000, 8_000];

/** The control plane answered, and the answer was no. */
export class FrameRefused extends Error {
  readonly status: number;

  constructor(type: string, status: number, answer: string) {
    super(`${type} was refused with ${status}: ${answer.slice(0, 300)}`);
    this.name = 'FrameRefused';
    this.status = status;
  }
}

/** Whether another try is pointless: the token is dead, or what was sent is not acceptable. */
export function isFinal(error: unknown): boolean {
  if (!(error instanceof FrameRefused)) return false;
  return error.status >= 400 && error.status < 500 && error.status !== 429;
}

/** A fresh id in the form that the protocol uses: a prefix and 32 hexadecimal digits. */
export function newId(prefix: string): string {
  return prefix + randomUUID().replaceAll('-', '');
}

/** The connection of one worker to its control plane. */
export class FrameLink {
  readonly #address: string;
  readonly #headers: Record<string, string>;

  constructor({ url, token, workerId }: FrameLinkOptions) {
    this.#address = `${url.replace(/\/+$/, '')}/api/v1/workers/${encodeURIComponent(workerId)}`;
    this.#headers = { authorization: `Bearer ${token}` };
  }

  /** Sends a frame and answers the payload of the control plane's reply. One try. */
  async ask(type: string, payload: JsonObject): Promise<JsonObject> {
    return this.#ask({ id: newId('msg_'), type, payload, needsReply: true });
  }

  /** As `ask`, for what must not get lost: up to three tries under one frame id. */
  async report(type: string, payload: JsonObject): Promise<JsonObject> {
    const frame = { id: newId('msg_'), type, payload, needsReply: true };
    return persistently(() => this.#ask(frame));
  }

  /** Sends a frame that has no answer. One try. */
  async tell(type: string, payload: JsonObject, rest: Pick<Frame, 'correlationId'> = {}): Promise<void> {
    await this.#post({ id: newId('msg_'), type, payload, ...rest });
  }

  /** Sends one batch of a numbered stream, up to three times: the control plane knows an event that comes twice. */
  async stream(type: string, payload: JsonObject, place: Required<Pick<Frame, 'stream' | 'seq'>>): Promise<void> {
    const frame = { id: newId('msg_'), type, payload, ...place };
    await persistently(() => this.#post(frame));
  }

  /** Opens the downlink, on which the control plane sends its own frames. */
  async openChannel(signal: AbortSignal): Promise<Response> {
    const headers = { ...this.#headers, accept: 'text/event-stream' };
    const response = await fetch(`${this.#address}/channel`, { headers, signal, redirect: 'manual' });
    if (!response.ok) throw new FrameRefused('channel', response.status, await response.text());
    return response;
  }

  async #ask(frame: Frame): Promise<JsonObject> {
    const reply: unknown = JSON.parse(await this.#post(frame));
    if (!isObject(reply) || !isObject(reply['payload'])) throw new Error(`${frame.type} was not answered by a frame`);
    if (reply['type'] === 'error') throw new Error(`${frame.type} failed: ${JSON.stringify(reply['payload'])}`);
    return reply['payload'];
  }

  async #post(frame: Frame): Promise<string> {
    const response = await fetch(`${this.#address}/frames`, {
      method: 'POST',
      headers: { ...this.#headers, 'content-type': 'application/json' },
      body: JSON.stringify(frame),
      signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS),
      redirect: 'manual',
    });
    const answer = await response.text();
    if (!response.ok) throw new FrameRefused(frame.type, response.status, answer);
    return answer;
  }
}

async function persistently<T>(attempt: () => Promise<T>): Promise<T> {
  for (const wait of RETRY_PAUSES_MS) {
    try {
      return await attempt();
    } catch (error) {
      if (isFinal(error)) throw error;
      await pause(wait);
    }
  }
  return attempt();
}

/** Whether a value read from JSON is an object, and neither null nor a list. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
