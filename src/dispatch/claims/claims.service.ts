import { Inject, Injectable } from '@nestjs/common';
import { Bus } from '../../platform/bus/bus.ts';
import { accountKey } from '../../platform/bus/keys.ts';
import { Clock, wireTime } from '../../platform/clock/clock.ts';
import { CONFIG, type Config } from '../../platform/config/config.ts';
import { violatedConstraint } from '../../platform/db/database-errors.ts';
import type { In, OpContext, Out } from '../../platform/operation/operation.ts';
import { Replica } from '../../platform/replica/replica.ts';
import { RunMoves, type Claimant, type ClaimResult, type Dial, type End, type Job } from '../../runs/index.ts';
import { SecretSupplies, type Secrets, type SuppliedRun, type Supply } from '../../vault/index.ts';
import { Channels, Fleet, Presence } from '../../workers/index.ts';
import { Losses } from '../losses/losses.service.ts';
import { WorkerNotRegistered, type claimRun, type pollRun } from './claims.contract.ts';
import { IdleMarks } from './idle.policy.ts';
import { unreadableJob, unreadableSecrets } from './job.policy.ts';

type Assignment = Out<typeof claimRun>;

/** Nothing queued: the SDK waits for a doorbell or ten seconds. */
const NOTHING: Assignment = {};
/** How long an empty answer is believed. Pokes end the belief at once; this bounds a lost one. */
const BELIEVED_MS = 2_000;
const TRIES = 3;
/** Runs that one claim may find to be unreadable before it is answered empty. */
const REFUSALS = 10;
/** A worker that asks for work while it holds a run has lost that run (worker-protocol.md A5). It is no loss of the worker. */
const ASKED_AGAIN = {
  rule: 'asked_again',
  sentence: 'its worker asked for other work without having reported an end',
  isSilent: false,
};
const FREE_MAX = 50_000;

interface Asking {
  readonly workerId: string;
  readonly holds: readonly string[];
  readonly slots: number;
  readonly agentKey: string;
  readonly textsOnly: boolean;
  readonly dial?: Dial | undefined;
}

/** How a worker asks. `textsOnly`: its client takes no values with parts. */
type Question = In<typeof claimRun> & { readonly textsOnly?: boolean };

/** A run that was claimed, and what goes out with it. */
interface Ready {
  readonly job: Job;
  readonly secrets: Secrets;
}

/** A run that was claimed, and what goes out with it, still sealed. */
interface Taken {
  readonly job: Job;
  readonly supply: Supply;
}

/**
 * Answers claims. Ten thousand idle workers ask all the time, so an empty answer is remembered for two seconds and the
 * next claims cost no statement. A worker that claims while it holds a run has lost that run, and only the rows know: so
 * only a worker that this replica knows to be free is answered from memory. Should another replica have handed it something
 * meanwhile, the rows hear of the loss at its next poll.
 */
@Injectable()
export class Claims {
  private readonly idle = new IdleMarks();
  /** Workers whose claim is being answered: a second one at once is the same question, not a sign that a run was lost. */
  private readonly asking = new Set<string>();
  /** Workers whose last claim here found nothing. */
  private readonly free = new Set<string>();
  /** Questions under way, one an agent: whoever else of its workers is free waits for the answer when nothing was poked. */
  private readonly looks = new Map<string, Promise<void>>();

  constructor(
    @Inject(RunMoves) private readonly moves: RunMoves,
    @Inject(SecretSupplies) private readonly supplies: SecretSupplies,
    @Inject(Losses) private readonly losses: Losses,
    @Inject(Presence) private readonly presence: Presence,
    @Inject(Fleet) private readonly fleet: Fleet,
    @Inject(Channels) private readonly channels: Channels,
    @Inject(Replica) private readonly replica: Replica,
    @Inject(Clock) private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Config,
    @Inject(Bus) bus: Bus,
  ) {
    bus.on('agent.work', (agentKey) => this.idle.clear(agentKey));
    bus.onGap(() => this.idle.clearAll());
  }

  async claim(ctx: OpContext, asked: In<typeof claimRun>): Promise<Assignment> {
    const ready = await this.answer(ctx, asked);
    return ready ? { job: toJob(ready) } : NOTHING;
  }

  /**
   * A worker of SDK 0.1, which takes one run after the other: what it has claimed it has done with when it asks again, one way
   * or another. The version that it may name is its agent's own, so it says nothing about what its client takes.
   */
  async poll(ctx: OpContext, { worker_id }: In<typeof pollRun>): Promise<Out<typeof pollRun>> {
    const ready = await this.answer(ctx, { worker_id, textsOnly: true });
    return { job: ready ? toPolledJob(ready) : null };
  }

  private async answer(
    ctx: OpContext,
    { worker_id: workerId, holds = [], draining, textsOnly = false }: Question,
  ): Promise<Ready | undefined> {
    const { accountId, id: agentId } = ctx.actor;
    this.presence.heard(ctx.actor, workerId, 'claim');
    const agentKey = accountKey(accountId, agentId);
    const workerKey = accountKey(accountId, workerId);
    if (draining) await this.fleet.announceDraining(ctx.actor, workerId); // its claim then settles what it has lost, and gets nothing
    if (this.replica.isDraining) return undefined;
    if (this.free.has(workerKey) && (await this.isKnownIdle(agentKey))) return undefined;
    const slots = this.presence.slotsOf(accountId, workerId);
    if (holds.length >= slots) return undefined;
    if (slots === 1 && this.asking.has(workerKey)) return undefined; // its first question is being answered
    this.asking.add(workerKey);
    const claimant = { workerId, holds, slots, agentKey, textsOnly };
    const asked = this.takeReadable(ctx, claimant).finally(() => this.asking.delete(workerKey));
    this.noteLook(agentKey, asked);
    const taken = await asked;
    this.remember(workerKey, taken === undefined && holds.length === 0);
    if (!taken) {
      this.channels.noteFree(accountId, workerId);
      return undefined;
    }
    if (holds.length + 1 >= slots) this.channels.noteBusy(accountId, workerId);
    return taken;
  }

  /** Nobody asks: what a worker may be dialled with, as a claim of its own would have got it. */
  async takeForDial(
    ctx: OpContext,
    { workerId, slots, dial }: { readonly workerId: string; readonly slots: number; readonly dial: Dial },
  ): Promise<NonNullable<Assignment['job']> | undefined> {
    const { accountId, id: agentId } = ctx.actor;
    const asking = { workerId, slots, dial, holds: [], textsOnly: true, agentKey: accountKey(accountId, agentId) };
    const taken = await this.takeReadable(ctx, asking);
    return taken && toJob(taken);
  }

  /** The doorbell is about to ring for an agent: what was believed of it is worth nothing. */
  lookAgain(accountId: string, agentId: string): void {
    this.idle.clear(accountKey(accountId, agentId));
  }

  /** While nothing was heard of the agent, one question about it answers whoever asks meanwhile. */
  private async isKnownIdle(agentKey: string): Promise<boolean> {
    const isIdle = (): boolean => this.idle.isIdle(agentKey, this.clock.monotonicMs());
    if (isIdle()) return true;
    const look = this.idle.wasIdle(agentKey) ? this.looks.get(agentKey) : undefined;
    await look;
    return look !== undefined && isIdle();
  }

  private noteLook(agentKey: string, asked: Promise<unknown>): void {
    if (this.looks.has(agentKey)) return;
    const forget = (): void => void this.looks.delete(agentKey);
    this.looks.set(agentKey, asked.then(forget, forget));
  }

  private remember(workerKey: string, isFree: boolean): void {
    if (!isFree) this.free.delete(workerKey);
    else if (this.free.size < FREE_MAX) this.free.add(workerKey);
    else this.free.clear(); // learned again by their next claims
  }

  /** A job that would end the worker’s process ends here instead, as does one whose secrets may not go out; the next one is taken. */
  private async takeReadable(ctx: OpContext, claimant: Asking): Promise<Ready | undefined> {
    const { accountId } = ctx.actor;
    for (let refused = 0; refused < REFUSALS; refused += 1) {
      const taken = await this.take(ctx, claimant);
      if (!taken) return undefined;
      const ready = this.makeReady(accountId, claimant, taken);
      if ('secrets' in ready) return ready;
      const run = { accountId, runId: taken.job.id, from: ['claimed'] as const };
      await ctx.briefly((inner) => this.moves.end(inner, run, ready.end));
    }
    return undefined;
  }

  private makeReady(
    accountId: string,
    { workerId, textsOnly }: Asking,
    { job, supply }: Taken,
  ): Ready | { readonly end: End } {
    const opened = this.supplies.open(accountId, suppliedRun(job, workerId), supply, { textsOnly });
    if ('refusal' in opened) {
      const { reason, detail } = opened.refusal;
      return { end: { code: 'end.credential_disabled', error: `credential_disabled: ${reason}`, detail } };
    }
    const { secrets } = opened;
    const reason = unreadableJob(job, this.config.jsonDepthLimit) ?? unreadableSecrets(secrets);
    if (reason !== undefined) return { end: { code: 'end.job_refused', error: `job_refused: ${reason}` } };
    return { job, secrets };
  }

  /** Settles first what the worker has lost, then claims. Two claims of one worker at once meet at its slot: one goes again. */
  private async take(ctx: OpContext, { workerId, holds, slots, agentKey, dial }: Asking): Promise<Taken | undefined> {
    const { id: agentId, accountId, agentHandle } = ctx.actor;
    for (let attempt = 1; ; attempt += 1) {
      const generation = this.idle.generationOf(agentKey);
      try {
        const asked = { agentId, agentHandle, workerId, slots, holds, dial };
        const { job, supply, lost, isRegistered, isIdle } = await ctx.briefly(
          (inner) => this.claimSupplied(inner, asked),
          'perhaps',
        );
        if (!isRegistered) throw WorkerNotRegistered();
        if (lost.length > 0 && attempt < TRIES) {
          await ctx.briefly(async (inner) => {
            for (const { id: runId, status, attempt: held } of lost)
              await this.moves.settleLost(inner, { accountId, runId, workerId, attempt: held, status }, ASKED_AGAIN);
          });
          continue;
        }
        if (!job && attempt < TRIES && (await this.losses.settleFor(accountId, agentId)) > 0) continue; // a lost holder is none
        if (isIdle && lost.length === 0) {
          this.idle.note(agentKey, generation, this.clock.monotonicMs() + BELIEVED_MS);
        }
        return job && { job, supply };
      } catch (error) {
        if (violatedConstraint(error) !== 'run_slot') throw error;
        if (attempt >= TRIES) return undefined; // another replica is answering the same worker
      }
    }
  }

  /** Claims, and notes in the same transaction what goes out with the run. */
  private async claimSupplied(ctx: OpContext, asked: Claimant): Promise<ClaimResult & { readonly supply: Supply }> {
    const claim = await this.moves.claim(ctx, asked);
    if (!claim.job || !claim.hasSecrets) return { ...claim, supply: [] };
    return { ...claim, supply: await this.supplies.handOut(ctx, suppliedRun(claim.job, asked.workerId)) };
  }
}

function suppliedRun({ id: runId, agent_id: agentId, attempt }: Job, workerId: string): SuppliedRun {
  return { runId, agentId, attempt, workerId };
}

function toPolledJob({ job, secrets }: Ready): NonNullable<Out<typeof pollRun>['job']> {
  const { id: run_id, agent_id, event_id, input, prior_snapshot: snapshot } = job;
  return { run_id, agent_id, event_id, input, secrets, snapshot };
}

function toJob({ job, secrets }: Ready): NonNullable<Assignment['job']> {
  const { id, agent_id, input, event_id, attempt, thread_id, parent_run_id, request_id, traceparent, config } = job;
  const deadline = wireTime(job.deadline);
  const origin = { kind: job.origin_kind, id: job.origin_id };
  return {
    run_id: id,
    agent_id,
    input,
    ...(job.prior_snapshot === null ? {} : { snapshot: job.prior_snapshot }),
    event_id,
    secrets,
    attempt,
    thread_id,
    parent_run_id,
    origin,
    request_id,
    traceparent,
    deadline,
    ...(config && {
      config_version: config.version,
      skills_version: config.skills_version,
      action_rules_version: config.action_rules_version,
    }),
  };
}
