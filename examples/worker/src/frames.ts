/**
 * The uplink of a worker: everything it says is one `POST …/frames` with a JSON envelope in the body (worker-protocol §3, §5).
 *
 * A frame that asks (`needsReply`) is answered by a frame; one that only tells is answered 202. A refusal for good
 * (most of 4xx) and a trouble that passes (429, 5xx, no connection) are kept apart: the second is worth another try,
 * and a second try carries the same frame id, so that the control plane knows it is not a second report.
 */

import { randomUUID } from 'node:crypto';
import { ConfigurationError, Declined, Refused, Unreachable, isFinal, sentence } from './errors.ts';
import { isObject, type JsonObject } from './json.ts';
import { backOff, pause, type Timing } from './timing.ts';

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
  readonly url: string;
  readonly token: string;
  readonly workerId: string;
  readonly timing: Timing;
  readonly log: (line: string) => void;
}

/** A fresh id in the form that the protocol uses: a prefix and 32 hexadecimal digits. */
export function newId(prefix: string): string {
  return prefix + randomUUID().replaceAll('-', '');
}

/** The connection of one worker to its control plane. */
export class FrameLink {
  readonly timing: Timing;
  readonly #url: string;
  readonly #address: string;
  readonly #headers: Record<string, string>;
  readonly #log: (line: string) => void;

  /** @throws ConfigurationError when the address or the token cannot be right. */
  constructor({ url, token, workerId, timing, log }: FrameLinkOptions) {
    this.#url = baseAddress(url);
    this.#address = `${this.#url}/api/v1/workers/${encodeURIComponent(workerId)}`;
    this.#headers = { authorization: `Bearer ${checkedToken(token)}` };
    this.timing = timing;
    this.#log = log;
  }

  /** Sends a frame and answers the payload of the control plane's reply. One try. */
  async ask(type: string, payload: JsonObject): Promise<JsonObject> {
    return this.#ask(frameOf(type, payload, { needsReply: true }));
  }

  /** As `ask`, for what must not get lost: repeated under one frame id until it is answered. */
  async report(type: string, payload: JsonObject, signal?: AbortSignal): Promise<JsonObject> {
    const frame = frameOf(type, payload, { needsReply: true });
    return this.#persistently(type, () => this.#ask(frame), signal);
  }

  /** Sends a frame that has no answer. One try. */
  async send(type: string, payload: JsonObject, rest: Pick<Frame, 'correlationId'> = {}): Promise<void> {
    await this.#post(frameOf(type, payload, rest));
  }

  /** As `send`, and a line in the log when it fails: the next one comes soon. */
  async tell(type: string, payload: JsonObject, rest: Pick<Frame, 'correlationId'> = {}): Promise<void> {
    try {
      await this.send(type, payload, rest);
    } catch (error) {
      this.#log(`${type} was not heard: ${sentence(error)}`);
    }
  }

  /** Sends one batch of a numbered stream until it is taken: the control plane knows an event that comes twice. */
  async stream(type: string, payload: JsonObject, place: Required<Pick<Frame, 'stream' | 'seq'>>): Promise<void> {
    const frame = frameOf(type, payload, place);
    await this.#persistently(type, () => this.#post(frame));
  }

  /** Opens the downlink, on which the control plane sends its own frames. */
  async openChannel(signal: AbortSignal): Promise<Response> {
    const headers = { ...this.#headers, accept: 'text/event-stream' };
    const response = await this.#fetch('/channel', { headers, signal });
    if (!response.ok) throw await this.#refusal('the channel', response);
    return response;
  }

  async #ask(frame: FrameText): Promise<JsonObject> {
    const answer = await this.#post(frame);
    const reply: unknown = answer === '' ? undefined : JSON.parse(answer);
    if (!isObject(reply) || !isObject(reply['payload'])) throw new Error(`${frame.type} was not answered by a frame`);
    if (reply['type'] === 'error') throw new Declined(frame.type, reply['payload']);
    return reply['payload'];
  }

  async #post({ type, body }: FrameText): Promise<string> {
    const signal = AbortSignal.timeout(this.timing.answerWithin);
    const headers = { ...this.#headers, 'content-type': 'application/json' };
    const response = await this.#fetch('/frames', { method: 'POST', headers, body, signal });
    if (!response.ok) throw await this.#refusal(type, response);
    return response.text().catch((cause: unknown) => Promise.reject(new Unreachable(this.#url, cause)));
  }

  async #fetch(path: string, init: RequestInit): Promise<Response> {
    try {
      return await fetch(this.#address + path, { ...init, redirect: 'manual' });
    } catch (cause) {
      throw new Unreachable(this.#url, cause);
    }
  }

  async #refusal(what: string, response: Response): Promise<Refused> {
    const { status, headers } = response;
    return new Refused(what, this.#url, { status, headers, text: await response.text().catch(() => '') });
  }

  async #persistently<T>(type: string, attempt: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const until = performance.now() + this.timing.persistence;
    for (let failures = 1; ; failures += 1) {
      try {
        return await attempt();
      } catch (error) {
        const wait = waitAfter(error, failures, this.timing);
        if (isFinal(error) || signal?.aborted || performance.now() + wait > until) throw error;
        if (failures === 1) this.#log(`${type}: ${sentence(error)}; trying again`);
        await pause(wait, signal);
      }
    }
  }
}

/** How long to wait before the next try: what the answer asks for, or the usual pause. */
export function waitAfter(error: unknown, failures: number, timing: Timing): number {
  const usual = backOff(failures, timing);
  const asked = error instanceof Refused ? error.retryAfter : undefined;
  return asked === undefined ? usual : Math.max(usual, Math.min(asked, timing.longestPause));
}

/** A frame as it goes out: written once, so that a repeat is the same bytes and what cannot be written fails before it is sent. */
interface FrameText {
  readonly type: string;
  readonly body: string;
}

function frameOf(type: string, payload: JsonObject, rest: Partial<Frame>): FrameText {
  return { type, body: JSON.stringify({ id: newId('msg_'), type, payload, ...rest } satisfies Frame) };
}

function baseAddress(url: string): string {
  if (url.trim() === '') throw new ConfigurationError('no address of a control plane: set AGENTOPS_URL, or `url`');
  let parsed: URL | undefined;
  try {
    parsed = new URL(url.trim());
  } catch {
    // said below
  }
  if (!parsed || !['http:', 'https:'].includes(parsed.protocol))
    throw new ConfigurationError(`${url} is no address of a control plane: it looks like http://127.0.0.1:8080`);
  return parsed.href.replace(/\/+$/, '');
}

/** A line break at the end comes with many a file; inside, or with other characters that no header takes, nothing would leave. */
function checkedToken(token: string): string {
  const trimmed = token.trim();
  if (trimmed === '')
    throw new ConfigurationError(
      'no worker token: set AGENTOPS_WORKER_TOKEN, or `token`. POST /api/v1/agents/worker-token mints one',
    );
  if (!/^[\x21-\x7e]+$/.test(trimmed))
    throw new ConfigurationError('the worker token holds characters that no token has');
  return trimmed;
}
