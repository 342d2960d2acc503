/**
 * What a run says while it runs: events, sent in small batches and in order.
 *
 * An event is known by its run, the `event_id` that all events of one execution share, and its `event_sequence`. So a
 * batch may be sent twice and is stored once.
 */

import { newId, type FrameLink, type JsonObject } from './frames.ts';

/** Soon enough to read along with, seldom enough that a chatty agent does not send a request per word. */
const BATCH_MS = 200;
const LARGEST_BATCH = 500;

/** These fields are on every event, whatever its type. */
const DEFAULTS = {
  source: 'sdk',
  level: 'INFO',
  logger: 'agentops',
  role: 'assistant',
  message_type: 'progress',
  payload: {},
  metadata: {},
};

/** The events of one execution of a run. */
export class RunEvents {
  readonly #link: FrameLink;
  readonly #runId: string;
  readonly #fence: JsonObject;
  readonly #eventId = newId('evt_');
  #sequence = 0;
  #batches = 0;
  #pending: JsonObject[] = [];
  #timer: NodeJS.Timeout | undefined;
  #sending: Promise<void> = Promise.resolve();

  /** `fence` is what marks a frame as this attempt's: `{ attempt }`, or nothing. */
  constructor(link: FrameLink, runId: string, fence: JsonObject) {
    this.#link = link;
    this.#runId = runId;
    this.#fence = fence;
  }

  /** Appends an event; it leaves with the next batch. */
  add(type: string, fields: JsonObject): void {
    this.#sequence += 1;
    this.#pending.push({
      event_type: type,
      event_id: this.#eventId,
      event_sequence: this.#sequence,
      timestamp: new Date().toISOString(),
      trace_id: this.#runId,
      ...DEFAULTS,
      ...fields,
    });
    this.#timer ??= setTimeout(() => void this.flush(), BATCH_MS);
  }

  /** Sends what is pending. Resolves when the control plane has it, or has refused it for good. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#sending = this.#sending.then(() => this.#send()); // one batch after the other keeps them in order
    await this.#sending;
  }

  async #send(): Promise<void> {
    while (this.#pending.length > 0) {
      const events = this.#pending.splice(0, LARGEST_BATCH);
      const place = { stream: this.#runId, seq: this.#batches };
      this.#batches += 1;
      try {
        await this.#link.stream('run_events', { events, ...this.#fence }, place);
      } catch (error) {
        console.error(`worker: ${events.length} events of ${this.#runId} are lost (${String(error)})`);
      }
    }
  }
}
