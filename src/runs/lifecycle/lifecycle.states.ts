/**
 * The life of a run.
 *
 * ```
 * queued ──claim──► claimed ──start──► running ──► succeeded | failed
 *   ▲ └─ lost before its start, or retried ┤
 *   └───────────── cancel ────────────────┴──► cancelled
 * ```
 */
export const RUN_STATUSES = ['queued', 'claimed', 'running', 'succeeded', 'failed', 'cancelled'] as const;

export type RunStatus = (typeof RUN_STATUSES)[number];

const MOVES: Readonly<Record<RunStatus, readonly RunStatus[]>> = {
  queued: ['claimed', 'failed', 'cancelled'],
  claimed: ['queued', 'running', 'succeeded', 'failed', 'cancelled'], // a report may overtake a lost run_started
  running: ['queued', 'succeeded', 'failed', 'cancelled'], // back to the queue: the agent’s policy retries
  succeeded: [],
  failed: [],
  cancelled: [],
};

/** Whether a run may go from one status to the other. The guarded statements of the store follow this table. */
export function mayMove(from: RunStatus, to: RunStatus): boolean {
  return MOVES[from].includes(to);
}

/** Terminal is final. */
export function isTerminal(status: RunStatus): boolean {
  return MOVES[status].length === 0;
}

/**
 * Why a run ended (ours.md, codes of `explain`). Where the worker's own text is not the error, `run.error` begins with the
 * code after `end.` and a colon.
 */
export type EndCode =
  | 'end.succeeded'
  | 'end.failed'
  | 'end.cancelled'
  | 'end.worker_lost'
  | 'end.delivery_lost'
  | 'end.undeliverable'
  | 'end.unreachable'
  | 'end.queue_ttl'
  | 'end.run_limit'
  | 'end.credential_disabled'
  | 'end.job_refused';
