/** What is known of a run when somebody else than its holder sends evidence about it. */
export interface HolderFacts {
  readonly agent_id: string;
  readonly status: string;
  readonly worker_id: string | null;
  readonly attempt: number;
  readonly day: string;
  /** The account keeps no content of it. */
  readonly is_withheld: boolean;
  /** The last attempt in which the sender held the run. */
  readonly own_attempt: number | null;
}

export type Lateness = { readonly why: 'stale_attempt' | 'after_end' | 'not_owner'; readonly attempt: number | null };

/**
 * Why evidence counts for nothing (worker-protocol.md A5): a worker without an attempt of its own in the frame speaks for
 * the last one that it claimed. Undefined when it does count.
 */
export function whyLate(run: HolderFacts, workerId: string, named: number | null): Lateness | undefined {
  const attempt = named ?? run.own_attempt;
  const isHolder = run.worker_id === workerId && (named === null || named === run.attempt);
  if (!isHolder) return { why: run.own_attempt === null ? 'not_owner' : 'stale_attempt', attempt };
  return run.status === 'claimed' || run.status === 'running'
    ? undefined
    : { why: 'after_end', attempt: attempt ?? run.attempt };
}
