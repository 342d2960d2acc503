import { Inject, Injectable } from '@nestjs/common';
import type { In, OpContext, Out } from '../../platform/operation/operation.ts';
import type { Masked } from '../../vault/index.ts';
import { RunLifecycle, type RunRow } from '../../runs/index.ts';
import { NUMBERS_A_LOOK, readEvents, type LogRow, type RunPlace } from '../events/log.store.ts';
import { dayOf, toEventView } from '../events/view.policy.ts';
import { contentOf } from './content.policy.ts';
import { toSkeleton } from './skeleton.policy.ts';
import { SpanNotFound, type getSpan, type listSpans } from './spans.contract.ts';
import { findSpan, spanRows, type SpanRow } from './spans.store.ts';

const EVENTS_OF_A_SPAN = 1_000;
/** A span may lie open over a whole run: so far its events are looked for, and then at its end. The list of events has all. */
const MOST_LOOKS = 5;

/** The steps of a run, joined from the events at their two ends. */
@Injectable()
export class Spans {
  constructor(@Inject(RunLifecycle) private readonly runs: RunLifecycle) {}

  async list(ctx: OpContext, query: In<typeof listSpans>): Promise<Out<typeof listSpans>> {
    const { run_id: runId, changed_after: changedAfter, kind = null, status = null, limit, cursor } = query;
    const order = changedAfter === undefined ? 'first_seq' : 'changed_seq';
    const after = cursor === undefined ? (changedAfter ?? 0) : Number(cursor);
    const rows = await spanRows(ctx, placeOf(ctx, await this.runs.find(ctx, runId)), {
      order,
      after,
      kind,
      status,
      limit,
    });
    const last = rows.at(-1);
    if (last && rows.length === limit) ctx.header('x-next-cursor', String(last[order]));
    return rows.map(toSkeleton);
  }

  async get(ctx: OpContext, { run_id: runId, span_id: spanId }: In<typeof getSpan>): Promise<Out<typeof getSpan>> {
    const run = await this.runs.find(ctx, runId);
    const place = placeOf(ctx, run);
    const span = await findSpan(ctx, place, spanId);
    if (!span) throw SpanNotFound();
    const rows = await this.eventsOf(ctx, place, span, run.last_seq);
    const start = await this.edge(ctx, place, rows, span.start_seq);
    const end = await this.edge(ctx, place, rows, span.end_seq);
    if (end && !rows.includes(end) && rows.length < EVENTS_OF_A_SPAN) rows.push(end);
    const edges = [start, end].filter((edge) => edge !== undefined);
    return {
      ...toSkeleton(span),
      ...contentOf(span.kind, start?.event['payload'], end?.event['payload']),
      trace_id: traceOf(edges[0]),
      usage: span.usage,
      events: rows.map(toEventView),
      truncated: edges.flatMap(({ truncated }) => truncated ?? []),
      masked: sumOf(...edges.map(({ masked }) => masked)),
      ...withheldMark(run),
    };
  }

  /** The first of them, until the look that goes beyond its end. */
  private async eventsOf(ctx: OpContext, place: RunPlace, span: SpanRow, lastSeq: number): Promise<LogRow[]> {
    const found: LogRow[] = [];
    const end = span.end_seq === null ? lastSeq : Math.max(span.end_seq, span.changed_seq);
    for (let look = 0, after = span.first_seq - 1; look < MOST_LOOKS && after < end; look += 1) {
      const limit = EVENTS_OF_A_SPAN - found.length;
      const { rows, isCut } = await readEvents(ctx, place, { after, limit }, { spanId: span.span_id });
      found.push(...rows);
      if (isCut) break;
      after += NUMBERS_A_LOOK;
    }
    return found;
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
}

function withheldMark({ is_withheld }: RunRow) {
  return is_withheld ? { content_withheld: true } : {};
}

function traceOf(edge: LogRow | undefined): string | null {
  const traceId = edge?.event['trace_id'];
  return typeof traceId === 'string' ? traceId : null;
}

function placeOf({ actor }: OpContext, run: RunRow): RunPlace {
  return { accountId: actor.accountId, runId: run.id, day: dayOf(run.created_at) };
}

/** What was masked in both edges, by field. */
function sumOf(...counts: readonly (Masked | null | undefined)[]): Record<string, number> {
  const sum: Record<string, number> = {};
  for (const [field, count] of counts.flatMap((one) => Object.entries(one ?? {})))
    sum[field] = (sum[field] ?? 0) + count;
  return sum;
}
