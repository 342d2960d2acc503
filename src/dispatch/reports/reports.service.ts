import { Inject, Injectable } from '@nestjs/common';
import { AgentRegistry, closedTo } from '../../agents/index.ts';
import { CONFIG, type Config } from '../../platform/config/config.ts';
import type { Fault } from '../../platform/faults/faults.ts';
import { derivedId, newId } from '../../platform/ids/ids.ts';
import { assertFlat } from '../../platform/operation/depth.ts';
import type { In, OpContext, Out } from '../../platform/operation/operation.ts';
import {
  RunLifecycle,
  RunMoves,
  RunNotFound,
  RunStaleAttempt,
  acknowledgeCancel,
  countMasked,
  factsOfHolder,
  isTerminal,
  keepLateReport,
  whyLate,
  type Begun,
  type Lateness,
  type Holder,
  type RunRow,
} from '../../runs/index.ts';
import { Masks } from '../../vault/index.ts';
import { Channels, Presence, WorkerIdTaken } from '../../workers/index.ts';
import { WorkerNotRegistered } from '../claims/claims.contract.ts';
import type { completeRun, failRun, startRun, triggerRun } from './reports.contract.ts';
import type { startDirect } from './rest.contract.ts';
import { objectIn, reportedUsage, sessionIn } from './reports.policy.ts';

type RunState = Out<typeof startRun>;
/** What of a report is free; the rest are ids of ours and counts. */
const MASKED = ['output', 'error', 'diagnostics', 'snapshot', 'usage'];
const STALE: Lateness = { why: 'stale_attempt', attempt: null };

/** What a worker says of a run that it began by itself, and who may say so. */
type Beginning = Pick<In<typeof triggerRun>, 'input' | 'metadata' | 'event_id'> &
  Pick<In<typeof startDirect>, 'usage'> &
  Pick<Begun, 'channel' | 'isOfRegistered'>;
type Report = In<typeof completeRun> | In<typeof failRun>;

/**
 * What workers report about their runs. A run belongs to one worker and attempt: a report of anyone else changes
 * nothing, is answered `accepted: false`, kept as late evidence and put on record (worker-protocol.md A5).
 */
@Injectable()
export class Reports {
  constructor(
    @Inject(RunMoves) private readonly moves: RunMoves,
    @Inject(AgentRegistry) private readonly agents: AgentRegistry,
    @Inject(RunLifecycle) private readonly runs: RunLifecycle,
    @Inject(Presence) private readonly presence: Presence,
    @Inject(Channels) private readonly channels: Channels,
    @Inject(Masks) private readonly masks: Masks,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  async start(ctx: OpContext, report: In<typeof startRun>): Promise<RunState> {
    const holder = this.holder(ctx, report);
    if (await this.moves.start(ctx, holder)) return accepted(holder, 'running');
    const run = await this.ownRun(ctx, holder);
    if (run.status === 'running' && isHeldBy(run, holder)) return accepted(holder, 'running'); // said again
    ctx.record({
      action: 'run.stale_report',
      target: ['run', run.id],
      outcome: 'refused',
      detail: { report: 'run_started', worker_id: holder.workerId, status: run.status },
    });
    return declined(run);
  }

  /** The run is the worker’s own from the beginning; said again by the same worker, it is the same run. */
  async trigger(ctx: OpContext, given: In<typeof triggerRun>): Promise<RunState> {
    const holder = this.holder(ctx, given);
    const { isBegun, closed } = await this.begin(ctx, holder, { ...given, channel: 'agent', isOfRegistered: true });
    if (isBegun) return accepted(holder, 'running');
    if (!(await factsOfHolder(ctx, holder))) throw closed ?? WorkerNotRegistered();
    const run = await this.ownRun(ctx, holder);
    ctx.note({ changed: false });
    return isHeldBy(run, holder) ? accepted(holder, run.status) : declined(run);
  }

  /** As `trigger`, for whoever may not have registered: a hook is a process of its own each time it is called (worker-protocol.md §20). */
  async startDirect(ctx: OpContext, given: In<typeof startDirect>): Promise<RunRow> {
    const holder = this.holder(ctx, given);
    const channel = given.channel ?? 'api';
    const { isBegun, closed } = await this.begin(ctx, holder, { ...given, channel, isOfRegistered: false });
    if (!isBegun && !(await factsOfHolder(ctx, holder))) throw closed ?? WorkerIdTaken();
    const run = await this.ownRun(ctx, holder);
    if (!isHeldBy(run, holder)) throw RunStaleAttempt({ message: 'Another worker has begun this run' });
    if (!isBegun) ctx.note({ changed: false });
    return run;
  }

  /** What is closed takes no new run; one that it has begun goes on. */
  private async begin(
    ctx: OpContext,
    holder: Holder,
    { input, metadata, event_id: eventId, usage, channel, isOfRegistered }: Beginning,
  ): Promise<{ readonly isBegun: boolean; readonly closed: Fault | undefined }> {
    assertFlat(this.config.jsonDepthLimit, { input, metadata });
    const closed = closedTo(await this.agents.find(ctx, holder.agentId), 'agent');
    if (closed) return { isBegun: false, closed };
    const isBegun = await this.moves.begin(ctx, {
      ...holder,
      eventId: eventId ?? newId('event', ctx.now.getTime()),
      input: JSON.stringify(input ?? {}),
      metadata: JSON.stringify(metadata ?? {}),
      usage: jsonOrNull(usage),
      channel,
      isOfRegistered,
    });
    return { isBegun, closed };
  }

  /** By `reportId` a report is known when it comes again. */
  async complete(ctx: OpContext, given: In<typeof completeRun>, reportId = frameIdOf(ctx)): Promise<RunState> {
    const holder = this.holder(ctx, given);
    const { report, masked } = await this.masked(ctx, holder, given);
    const { output, usage, diagnostics, snapshot } = report;
    const texts = {
      output: JSON.stringify(objectIn(output) ?? {}),
      usage: jsonOrNull(reportedUsage(usage)),
      diagnostics: jsonOrNull(objectIn(diagnostics)),
      snapshot: sessionIn(snapshot, this.config.jsonDepthLimit),
    };
    const isDone = await this.moves.succeed(ctx, holder, { ...texts, frameId: reportId });
    const state = isDone ? this.ended(ctx, holder, 'succeeded') : await this.late(ctx, holder, report, reportId);
    await countMasked(ctx, holder.runId, masked);
    return state;
  }

  async fail(ctx: OpContext, given: In<typeof failRun>, reportId = frameIdOf(ctx)): Promise<RunState> {
    const holder = this.holder(ctx, given);
    const { report, masked } = await this.masked(ctx, holder, given);
    const { error, diagnostics, snapshot } = report;
    const status = await this.moves.fail(ctx, holder, {
      error,
      diagnostics: jsonOrNull(objectIn(diagnostics)),
      snapshot: sessionIn(snapshot, this.config.jsonDepthLimit),
      frameId: reportId,
    });
    const state = status ? this.ended(ctx, holder, status) : await this.late(ctx, holder, report, reportId);
    await countMasked(ctx, holder.runId, masked);
    return state;
  }

  private holder(
    ctx: OpContext,
    report: { readonly worker_id: string; readonly run_id: string; readonly attempt?: number | undefined },
  ): Holder {
    this.presence.heard(ctx.actor, report.worker_id, 'frame');
    return { runId: report.run_id, agentId: ctx.actor.id, workerId: report.worker_id, attempt: report.attempt ?? null };
  }

  /** A report with no value in it that was handed out, the snapshot too: clients mask theirs, so none misses anything. */
  private async masked<Kind extends Report>(
    ctx: OpContext,
    holder: Holder,
    given: Kind,
  ): Promise<{ readonly report: Kind; readonly masked: number }> {
    const masking = await this.masks.of(ctx, holder);
    const report: Record<string, unknown> = { ...given };
    for (const field of MASKED) if (report[field] !== undefined) report[field] = masking.value(report[field], field);
    return { report: report as Kind, masked: masking.total };
  }

  private ended(ctx: OpContext, holder: Holder, status: RunState['status']): RunState {
    ctx.afterCommit(() => this.channels.noteFree(ctx.actor.accountId, holder.workerId));
    return accepted(holder, status);
  }

  /** The guarded statement moved nothing: says why, and keeps what was reported. */
  private async late(ctx: OpContext, holder: Holder, report: Report, reportId: string): Promise<RunState> {
    const run = await this.ownRun(ctx, holder);
    const { workerId } = holder;
    if (run.retried_frames.includes(reportId)) return accepted(holder, 'queued'); // as it was answered then
    const isOwn = isTerminal(run.status) && isHeldBy(run, holder);
    if (isOwn && run.status !== 'cancelled' && run.terminal_frame_id === reportId) return accepted(holder, run.status);
    await acknowledgeCancel(ctx, run.id, workerId);
    const { worker_id: _, ...content } = report;
    const facts = await factsOfHolder(ctx, holder);
    const { why, attempt } = (facts && whyLate(facts, workerId, holder.attempt)) ?? STALE; // it may hold the run again by now
    await keepLateReport(ctx, {
      id: derivedId('late', `${workerId}\n${reportId}`), // a repeat is kept once
      runId: run.id,
      attempt,
      workerId,
      why,
      content: JSON.stringify(content),
    });
    const isFrame = ctx.frame !== undefined;
    if (isFrame && isOwn && run.status === 'succeeded' && 'output' in report) return accepted(holder, run.status); // its success stands
    const isCancelled = run.cancel_requested_at !== null && isHeldBy(run, holder); // the worker’s answer to our own cancel is no fault of its
    if (!isCancelled)
      ctx.record({
        action: 'run.stale_report',
        target: ['run', run.id],
        outcome: 'refused',
        detail: { why, worker_id: workerId, status: run.status },
      });
    ctx.afterCommit(() => this.channels.noteFree(ctx.actor.accountId, workerId));
    return declined(run);
  }

  private async ownRun(ctx: OpContext, { runId, agentId }: Holder): Promise<RunRow> {
    const run = await this.runs.find(ctx, runId);
    if (run.agent_id !== agentId) throw RunNotFound();
    return run;
  }
}

function isHeldBy(run: RunRow, { workerId, attempt }: Holder): boolean {
  return run.worker_id === workerId && (attempt === null || run.attempt === attempt);
}

function frameIdOf(ctx: OpContext): string {
  return ctx.frame?.id ?? ctx.requestId;
}

function jsonOrNull(value: object | null | undefined): string | null {
  return value === null || value === undefined ? null : JSON.stringify(value);
}

function accepted({ runId, workerId }: Holder, status: RunState['status']): RunState {
  return { run_id: runId, accepted: true, status, worker_id: workerId };
}

function declined({ id, status, worker_id: holder }: RunRow): RunState {
  return { run_id: id, accepted: false, status, ...(holder === null ? {} : { worker_id: holder }) };
}
