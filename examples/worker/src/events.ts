/**
 * What a run says while it runs: events, sent in small batches and in order (worker-protocol §10).
 *
 * An event is known by its run, the `event_id` that all events of one execution share, and its `event_sequence`. So a
 * batch may be sent twice and is stored once, and a batch is repeated until it is taken.
 */

import { Refused, sentence } from './errors.ts';
import { newId, type FrameLink } from './frames.ts';
import { isObject, type JsonObject } from './json.ts';

const LARGEST_BATCH = 500;
/** Control planes take frames of 16 MiB; a smaller one says 413, and the batch is halved. */
const LARGEST_BATCH_BYTES = 1024 * 1024;
/** Who says more than this faster than the control plane takes it waits. */
const MOST_WAITING_BYTES = 4 * 1024 * 1024;

const LARGE_TEXT_BYTES = 64 * 1024;

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

interface Waiting {
  /** Events with the same key follow each other and the later one says it all: only that one is sent. */
  readonly replaces: string | undefined;
  readonly event: JsonObject;
  readonly bytes: number;
}

export interface EventsOptions {
  readonly link: FrameLink;
  readonly runId: string;
  /** What marks a frame as this attempt's: `{ attempt }`, or nothing. */
  readonly fence: JsonObject;
  readonly log: (line: string) => void;
}

/** The events of one execution of a run. */
export class RunEvents {
  readonly #options: EventsOptions;
  readonly #eventId = newId('evt_');
  #sequence = 0;
  /** The number of the next batch in the run's stream. */
  #place = 0;
  #waiting: Waiting[] = [];
  #waitingBytes = 0;
  #timer: NodeJS.Timeout | undefined;
  #sending: Promise<void> = Promise.resolve();
  /** Set once the control plane has refused this run's events for good. */
  #isClosed = false;

  constructor(options: EventsOptions) {
    this.#options = options;
  }

  /**
   * Appends an event; it leaves with the next batch. Resolves at once unless too much waits to be sent: then when there is
   * room again. `replaces` names what the event replaces as long as it was not sent, and nothing else came between.
   */
  async add(type: string, fields: JsonObject, replaces?: string): Promise<void> {
    if (this.#isClosed) return;
    const last = this.#waiting.at(-1);
    const isNewer = replaces !== undefined && last?.replaces === replaces;
    if (isNewer) this.#waitingBytes -= this.#waiting.pop()?.bytes ?? 0;
    else this.#sequence += 1;
    const event = {
      event_type: type,
      event_id: this.#eventId,
      event_sequence: this.#sequence,
      timestamp: new Date().toISOString(),
      trace_id: this.#options.runId,
      ...DEFAULTS,
      ...fields,
    };
    this.#waiting.push({ ...measured(event, replaces !== undefined), replaces });
    this.#waitingBytes += this.#waiting.at(-1)?.bytes ?? 0;
    if (this.#waitingBytes > MOST_WAITING_BYTES) return this.flush();
    // A long answer that is sent whole each time it grows is sent less often.
    const patience = Math.min(1 + this.#waitingBytes / LARGE_TEXT_BYTES, 10);
    this.#timer ??= setTimeout(() => void this.flush(), this.#options.link.timing.batchEvery * patience);
  }

  /** Sends what waits. Resolves when the control plane has it, or has refused it for good. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#sending = this.#sending.then(() => this.#sendWaiting()); // one batch after the other keeps them in order
    await this.#sending;
  }

  async #sendWaiting(): Promise<void> {
    while (this.#waiting.length > 0) await this.#send(this.#nextBatch());
  }

  #nextBatch(): readonly Waiting[] {
    let bytes = 0;
    const fits = this.#waiting.findIndex((one, index) => {
      bytes += one.bytes;
      return index === LARGEST_BATCH || (bytes > LARGEST_BATCH_BYTES && index > 0);
    });
    const batch = this.#waiting.splice(0, fits < 0 ? this.#waiting.length : fits);
    for (const { bytes: gone } of batch) this.#waitingBytes -= gone;
    return batch;
  }

  async #send(batch: readonly Waiting[]): Promise<void> {
    if (this.#isClosed || batch.length === 0) return;
    const { link, runId, fence, log } = this.#options;
    try {
      const events = batch.map(({ event }) => event);
      await link.stream('run_events', { events, ...fence }, { stream: runId, seq: this.#place });
      this.#place += 1;
    } catch (error) {
      const isTooLarge = error instanceof Refused && error.status === 413;
      const isNote = batch[0]?.bytes === 0;
      if (isTooLarge && batch.length > 1) {
        const half = Math.ceil(batch.length / 2);
        await this.#send(batch.slice(0, half));
        await this.#send(batch.slice(half));
      } else if (isTooLarge && !isNote) {
        log(`an event of ${batch[0]?.bytes} bytes of ${runId} is larger than the control plane takes`);
        await this.#send(batch.map(tooLarge));
      } else {
        log(`${batch.length} events of ${runId} are lost: ${sentence(error)}`);
        this.#isClosed = error instanceof Refused && [401, 403, 404].includes(error.status);
      }
    }
  }
}

/**
 * An event and about how large it is. One that may be replaced before it is sent is not written to be measured: a long answer
 * that grows by a word would be written as often as it has words. What cannot be written becomes a note that says so.
 */
function measured(event: JsonObject, isTransient: boolean): Pick<Waiting, 'event' | 'bytes'> {
  const text = isTransient && isObject(event['payload']) ? event['payload']['text'] : undefined;
  if (typeof text === 'string') return { event, bytes: text.length + 500 };
  try {
    return { event, bytes: Buffer.byteLength(JSON.stringify(event)) };
  } catch (error) {
    return { event: { ...event, payload: { not_json: sentence(error) }, usage: null }, bytes: 500 };
  }
}

/** What stands in the place of an event that nobody takes: its number is not missing, and the record says what is. */
function tooLarge({ event, bytes }: Waiting): Waiting {
  const { payload: _payload, content: _content, ...rest } = event;
  const note = { ...rest, level: 'WARNING', content: `${bytes} bytes were too large to be sent`, payload: {} };
  return { event: note, bytes: 0, replaces: undefined };
}
