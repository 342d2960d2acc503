import { Inject, Injectable } from '@nestjs/common';
import { Bus } from '../../platform/bus/bus.ts';
import { accountKey } from '../../platform/bus/keys.ts';
import { Clock } from '../../platform/clock/clock.ts';
import { violatedConstraint } from '../../platform/db/database-errors.ts';
import type { In, OpContext, Out } from '../../platform/operation/operation.ts';
import { Replica } from '../../platform/replica/replica.ts';
import { RunMoves, type Job } from '../../runs/index.ts';
import { Channels, Presence } from '../../workers/index.ts';
import type { claimRun } from './claims.contract.ts';

type Assignment = Out<typeof claimRun>;

/** Nothing queued: the SDK waits for a doorbell or ten seconds. */
const NOTHING: Assignment = {};
/** How long it is believed that an agent has no live run. Pokes end the belief at once; this bounds a lost one. */
const BELIEVED_MS = 2_000;
const TRIES = 3;

/**
 * Answers claims. Ten thousand idle workers ask all the time, so an agent without any live run is remembered for two
 * seconds and its claims cost no statement. While the agent has a live run every claim asks: a worker that claims while
 * it holds a run has lost that run, and only the rows know.
 */
@Injectable()
export class Claims {
  private readonly noLiveRun = new Map<string, number>();

  constructor(
    @Inject(RunMoves) private readonly moves: RunMoves,
    @Inject(Presence) private readonly presence: Presence,
    @Inject(Channels) private readonly channels: Channels,
    @Inject(Replica) private readonly replica: Replica,
    @Inject(Clock) private readonly clock: Clock,
    @Inject(Bus) bus: Bus,
  ) {
    bus.on('agent.work', (agentKey) => this.noLiveRun.delete(agentKey));
    bus.onGap(() => this.noLiveRun.clear());
  }

  async claim(ctx: OpContext, { worker_id: workerId, holds = [] }: In<typeof claimRun>): Promise<Assignment> {
    const { accountId, id: agentId } = ctx.actor;
    this.presence.heard(ctx.actor, workerId, 'claim');
    const agentKey = accountKey(accountId, agentId);
    if (this.replica.isDraining || this.isKnownIdle(agentKey)) return NOTHING;
    const slots = this.presence.slotsOf(accountId, workerId);
    if (holds.length >= slots) return NOTHING;
    const job = await this.take(ctx, { workerId, holds, slots, agentKey });
    if (!job) {
      this.channels.noteFree(accountId, workerId);
      return NOTHING;
    }
    if (holds.length + 1 >= slots) this.channels.noteBusy(accountId, workerId);
    return { job: toJob(job) };
  }

  private isKnownIdle(agentKey: string): boolean {
    const until = this.noLiveRun.get(agentKey);
    if (until === undefined) return false;
    if (until > this.clock.monotonicMs()) return true;
    this.noLiveRun.delete(agentKey);
    return false;
  }

  /** Settles first what the worker has lost, then claims. Two claims of one worker at once meet at its slot: one goes again. */
  private async take(
    ctx: OpContext,
    claim: { workerId: string; holds: readonly string[]; slots: number; agentKey: string },
  ): Promise<Job | undefined> {
    const { id: agentId } = ctx.actor;
    const { workerId, holds, slots, agentKey } = claim;
    for (let attempt = 1; ; attempt += 1) {
      try {
        const { job, lost, isLive } = await ctx.briefly((inner) =>
          this.moves.claim(inner, { agentId, workerId, slots, holds }),
        );
        if (lost.length > 0 && attempt < TRIES) {
          await ctx.briefly(async (inner) => {
            for (const run of lost) await this.moves.settleLost(inner, agentId, workerId, run);
          });
          continue;
        }
        if (!isLive) this.noLiveRun.set(agentKey, this.clock.monotonicMs() + BELIEVED_MS);
        return job;
      } catch (error) {
        if (attempt >= TRIES || violatedConstraint(error) !== 'run_slot') throw error;
      }
    }
  }
}

function toJob(job: Job): NonNullable<Assignment['job']> {
  const { id, agent_id, input, event_id, attempt, thread_id, parent_run_id, request_id, traceparent } = job;
  const origin = { kind: job.origin_kind, id: job.origin_id };
  return { run_id: id, agent_id, input, event_id, attempt, thread_id, parent_run_id, origin, request_id, traceparent };
}
