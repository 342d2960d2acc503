/** Where in a run a worker may end itself: after the answer to its claim, after the start, in the handler, before and after the report. */
export type Instant = 'claimed' | 'started' | 'entered' | 'reporting' | 'completed';

/** What a counting worker is told to do, as JSON in its environment. */
export interface WorkerOrders {
  readonly url: string;
  readonly token: string;
  readonly handle: string;
  readonly workerId: string;
  /** One line "run id, attempt" is appended at handler entry. */
  readonly entries: string;
  /** One line "run id, event id, first and last number" is appended for each batch of events that was acknowledged. */
  readonly acknowledged: string;
  readonly factor: number;
  readonly slots: number;
  /** How long a handler takes, from and to, in milliseconds. An input's `handler_ms` wins. */
  readonly handlerMs: readonly [number, number];
  /** Whether the handler blocks the whole process, as one that calls something slow without awaiting does. */
  readonly blocks: boolean;
  /** Pause between the claim's answer and the start, in milliseconds. */
  readonly startAfterMs: number;
  /** Batches of five events a run. */
  readonly batches: number;
  /** Whether it opens a channel. A worker without one only claims. */
  readonly hasChannel: boolean;
  /** After so much silence, in seconds of true length, it takes its channel for dead. */
  readonly silenceSeconds: number;
  readonly crash: { readonly share: number; readonly seed: number; readonly at: readonly Instant[] } | null;
}

export const ORDERS_VARIABLE = 'COUNTING_WORKER_ORDERS';
