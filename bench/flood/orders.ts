/** A run that its worker has started and that takes events. */
export interface HeldRun {
  readonly runId: string;
  readonly workerId: string;
}

/** What a flood sends. */
export interface FloodOrder {
  readonly url: string;
  readonly token: string;
  readonly runs: readonly HeldRun[];
  readonly seconds: number;
  readonly connections: number;
  /** Batches due a second; null: as fast as they are answered. */
  readonly perSecond: number | null;
}

/** What became of it. */
export interface FloodTally {
  readonly seconds: number;
  readonly sent: number;
  /** Batches answered 200. */
  readonly stored: number;
  /** Batches answered 429 or 503. */
  readonly refused: number;
  /** Of these, those that did not say when to come again. */
  readonly unexplained: number;
  /** Batches that were answered otherwise, or not at all. */
  readonly failed: number;
  /** Batches that were due while every connection was busy: the server held the sender back. */
  readonly heldBack: number;
}
