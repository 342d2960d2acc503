import { Inject, Injectable } from '@nestjs/common';
import type { In, OpContext, Out } from '../../platform/operation/operation.ts';
import { RunLifecycle } from '../../runs/index.ts';
import { readEvents, type LogRow, type RunPlace } from '../events/log.store.ts';
import { dayOf, toEventView } from '../events/view.policy.ts';
import { contentOf } from './content.policy.ts';
import { toSkeleton } from './skeleton.policy.ts';
import { SpanNotFound, type getSpan, type listSpans } from './spans.contract.ts';
import { findSpan, spanRows } from './spans.store.ts';

const EVENTS_OF_A_SPAN = 1_000;

/** The steps of a run, joined from the events at their two ends. */
@Injectable()
export class Spans {
  constructor(@Inject(RunLifecycle) private readonly runs: RunLifecycle) {}

  async list(ctx: OpContext, query: In<typeof listSpans>): Promise<Out<typeof listSpans>> {
    const { run_id: runId, changed_after: changedAfter, kind = null, status = null, limit, cursor } = query;
    const order = changedAfter === undefined ? 'first_seq' : 'changed_seq';
    const after = cursor === undefined ? (changedAfter ?? 0) : Number(cursor);
    const rows = await spanRows(ctx, await this.placeOf(ctx, runId), { order, after, kind, status, limit });
    const last = rows.at(-1);
    if (last && rows.length === limit) ctx.header('x-next-cursor', String(last[order]));
    return rows.map(toSkeleton);
  }

  async get(ctx: OpContext, { run_id: runId, span_id: spanId }: In<typeof getSpan>): Promise<Out<typeof getSpan>> {
    const place = await this.placeOf(ctx, runId);
    const span = await findSpan(ctx, place, spanId);
    if (!span) throw SpanNotFound();
    const { rows } = await readEvents(ctx, place, { after: span.first_seq - 1, limit: EVENTS_OF_A_SPAN }, { spanId });
    const start = await this.edge(ctx, place, rows, span.start_seq);
    const end = await this.edge(ctx, place, rows, span.end_seq);
    const traceId = (start ?? end)?.event['trace_id'];
    return {
      ...toSkeleton(span),
      ...contentOf(span.kind, start?.event['payload'], end?.event['payload']),
      trace_id: typeof traceId === 'string' ? traceId : null,
      usage: span.usage,
      events: rows.map(toEventView),
      truncated: [...(start?.truncated ?? []), ...(end?.truncated ?? [])],
      masked: {},
    };
  }

  /** An edge may lie behind the first thousand events of its span. */
  private async edge(
    ctx: OpContext,
    place: RunPlace,
    rows: readonly LogRow[],
    seq: number | null,
  ): Promise<LogRow | undefined> {
    if (seq === null) return undefined;
    const known = rows.find((row) => row.seq === seq);
    return known ?? (await readEvents(ctx, place, { after: seq - 1, limit: 1 })).rows[0];
  }

  private async placeOf(ctx: OpContext, runId: string): Promise<RunPlace> {
    const run = await this.runs.find(ctx, runId);
    return { accountId: ctx.actor.accountId, runId, day: dayOf(run.created_at) };
  }
}
