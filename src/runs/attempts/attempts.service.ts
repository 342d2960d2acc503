import { Injectable } from '@nestjs/common';
import type { In, OpContext, Out } from '../../platform/operation/operation.ts';
import { RunNotFound } from '../lifecycle/lifecycle.faults.ts';
import type { listAttempts } from './attempts.contract.ts';
import { attemptsOf, toAttemptView } from './attempts.policy.ts';
import { readMoves } from './attempts.store.ts';

/** Who was offered a run, who began it, and what became of that: read off the run's own history. */
@Injectable()
export class RunAttempts {
  async list(ctx: OpContext, { run_id: runId }: In<typeof listAttempts>): Promise<Out<typeof listAttempts>> {
    const moves = await readMoves(ctx, runId);
    if (moves.length === 0) throw RunNotFound(); // the first move of every run is its making
    return attemptsOf(moves).map(toAttemptView);
  }
}
