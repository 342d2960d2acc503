import { Inject, Injectable } from '@nestjs/common';
import { derivedId } from '../../platform/ids/ids.ts';
import { canonicalJson } from '../../platform/json/json.ts';
import type { In, OpContext, Out } from '../../platform/operation/operation.ts';
import { Patience } from '../../platform/operation/patience.ts';
import {
  RunLifecycle,
  RunStaleAttempt,
  RunTerminal,
  factsOfHolder,
  isTerminal,
  toSummary,
  type RunRow,
} from '../../runs/index.ts';
import { Reports } from './reports.service.ts';
import type { completeRunByRest, failRunByRest, startDirect, startRunByRest } from './rest.contract.ts';
import { attemptOf } from './rest.store.ts';

type Summary = Out<typeof completeRunByRest>;
type Ending = In<typeof completeRunByRest> | In<typeof failRunByRest>;
type State = Awaited<ReturnType<Reports['start']>>;

/** These workers wait 10 s for an answer. */
const HELD_MS = 6_000;

/**
 * The same reports as frames, of workers that know none: what a frame declines is a 409 here. A report has no id of its own, so
 * it is its content, in the attempt that its worker speaks for.
 */
@Injectable()
export class RestReports {
  constructor(
    @Inject(Reports) private readonly reports: Reports,
    @Inject(RunLifecycle) private readonly runs: RunLifecycle,
    @Inject(Patience) private readonly patience: Patience,
  ) {}

  async start(ctx: OpContext, report: In<typeof startRunByRest>): Promise<Summary> {
    const stale = 'Another worker or attempt holds the run';
    return this.answer(ctx, report.run_id, (inner) => this.reports.start(inner, report), stale);
  }

  /**
   * SDK 0.1 reports a failure when it is not told that its success was taken: so an outage of the database is waited out for as
   * long as it waits itself.
   */
  complete(ctx: OpContext, report: In<typeof completeRunByRest>): Promise<Summary> {
    return this.end(ctx, report, (inner, id) => this.reports.complete(inner, report, id));
  }

  fail(ctx: OpContext, report: In<typeof failRunByRest>): Promise<Summary> {
    return this.end(ctx, report, (inner, id) => this.reports.fail(inner, report, id));
  }

  async startDirect(ctx: OpContext, given: In<typeof startDirect>): Promise<Summary> {
    return toSummary(await this.reports.startDirect(ctx, given));
  }

  private end(
    ctx: OpContext,
    report: Ending,
    say: (inner: OpContext, reportId: string) => Promise<State>,
  ): Promise<Summary> {
    const content = canonicalJson(report);
    return this.patience.throughOutage({ heldMs: HELD_MS, sizeOf: () => content.length }, () =>
      this.answer(ctx, report.run_id, async (inner) => say(inner, await reportIdOf(inner, report, content))),
    );
  }

  /** Refuses only after the commit: what was reported too late is kept. */
  private async answer(
    ctx: OpContext,
    runId: string,
    say: (inner: OpContext) => Promise<State>,
    stale?: string,
  ): Promise<Summary> {
    const { isAccepted, run } = await ctx.briefly(async (inner): Promise<{ isAccepted: boolean; run: RunRow }> => {
      const { accepted: isAccepted } = await say(inner);
      return { isAccepted, run: await this.runs.find(inner, runId) };
    });
    if (isAccepted) return toSummary(run);
    if (isTerminal(run.status)) throw RunTerminal();
    throw RunStaleAttempt(stale === undefined ? {} : { message: stale });
  }
}

/** A worker without the run speaks for the last attempt that it claimed (worker-protocol.md A5). */
async function reportIdOf(
  ctx: OpContext,
  { run_id: runId, worker_id: workerId }: Ending,
  content: string,
): Promise<string> {
  const holder = { runId, workerId };
  const attempt = (await attemptOf(ctx, holder)) ?? (await factsOfHolder(ctx, holder))?.own_attempt ?? null;
  return derivedId('message', `${attempt}\n${content}`);
}
