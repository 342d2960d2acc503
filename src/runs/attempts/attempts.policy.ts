import type { z } from 'zod';
import { wireTime } from '../../platform/clock/clock.ts';
import type { JsonObject } from '../../platform/json/json.ts';
import { isTerminal, type RunStatus } from '../lifecycle/lifecycle.states.ts';
import type { AttemptView } from './attempts.contract.ts';

/** One move of a run, as its sequence has it. */
export interface Move {
  readonly at: Date;
  readonly attempt: number;
  readonly status: RunStatus;
  readonly worker_id: string | null;
  /** Why it ended, or went back to the queue. */
  readonly code: string | null;
  readonly detail: JsonObject;
}

/** One offer of a run, from the claim to whatever ended it. */
export interface Attempt {
  readonly attempt: number;
  readonly workerId: string | null;
  /** Whether a worker claimed the run, was dialled for it, or began it by itself. */
  readonly path: 'claim' | 'direct' | 'self';
  readonly offeredAt: Date;
  startedAt: Date | null;
  endedAt: Date | null;
  end: string | null;
  detail: JsonObject;
}

/**
 * The attempts of a run, read off its moves, the oldest first. A run that ends while it waits ends no attempt: its last one was
 * over when it went back to the queue.
 */
export function attemptsOf(moves: readonly Move[]): Attempt[] {
  const attempts: Attempt[] = [];
  let open: Attempt | undefined;
  for (const { at, attempt, status, worker_id: workerId, code, detail } of moves) {
    if (status === 'claimed' || (!open && status === 'running')) {
      const [path, startedAt] = status === 'claimed' ? ([wayOf(detail), null] as const) : (['self', at] as const);
      open = { attempt, workerId, path, offeredAt: at, startedAt, endedAt: null, end: null, detail: {} };
      attempts.push(open);
    } else if (open && status === 'running') {
      open.startedAt = at;
    } else if (open) {
      if (status === 'succeeded' || code === 'end.failed') open.startedAt ??= at; // its report overtook the word of its start
      Object.assign(open, { endedAt: at, end: endOf(status, code, open.startedAt !== null), detail });
      open = undefined;
    }
  }
  return attempts;
}

function wayOf({ path }: JsonObject): 'claim' | 'direct' {
  return path === 'direct' ? path : 'claim';
}

/** How an attempt ended, in the codes of `explain`. A run may end as undeliverable; its last offer then was one that failed. */
function endOf(status: RunStatus, code: string | null, hasStarted: boolean): string {
  if (!hasStarted && (code === 'end.undeliverable' || (status === 'queued' && code === null)))
    return 'worker.failed_offer';
  return code ?? (isTerminal(status) ? `end.${status}` : 'end.worker_lost');
}

export function toAttemptView(one: Attempt): z.input<typeof AttemptView> {
  const { attempt, workerId, path, offeredAt, startedAt, endedAt, end, detail } = one;
  return {
    attempt,
    worker_id: workerId,
    path,
    offered_at: wireTime(offeredAt),
    started_at: startedAt && wireTime(startedAt),
    ended_at: endedAt && wireTime(endedAt),
    end,
    detail,
  };
}
