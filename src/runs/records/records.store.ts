import type { OpContext } from '../../platform/operation/operation.ts';
import type { RunRecords } from '../lifecycle/lifecycle.policy.ts';
import type { RunRow } from '../lifecycle/lifecycle.store.ts';
import { toLogEvent, toMessage, toTraceEvent, type RecordRow } from './records.policy.ts';

/** How many log lines, messages and span events each the detail of a run holds (contract.md runs, Detail). */
const DETAIL_LIMIT = 1_000;

const OLDEST = `
  SELECT seq::float8 AS seq, at, event FROM run_log
   WHERE account_id = $1 AND run_id = $2 AND day = $4::date AND type = ANY ($3::text[]) ORDER BY seq LIMIT ${DETAIL_LIMIT + 1}`;

/** The oldest records of a run, as its detail shows them. */
export async function readRecords(ctx: OpContext, { id: runId, day }: Pick<RunRow, 'id' | 'day'>): Promise<RunRecords> {
  const read = (types: readonly string[]): Promise<RecordRow[]> =>
    ctx.sql<RecordRow>(OLDEST, [ctx.actor.accountId, runId, types, day]);
  const [logs, messages, traces] = await Promise.all([
    read(['log.created']),
    read(['message.created']),
    read(['span.started', 'span.ended']),
  ]);
  return {
    log_events: logs.slice(0, DETAIL_LIMIT).map((row) => toLogEvent(runId, row)),
    messages: messages.slice(0, DETAIL_LIMIT).map((row) => toMessage(runId, row)),
    trace_events: traces.slice(0, DETAIL_LIMIT).map((row) => toTraceEvent(runId, row)),
    log_events_truncated: logs.length > DETAIL_LIMIT,
    messages_truncated: messages.length > DETAIL_LIMIT,
    trace_events_truncated: traces.length > DETAIL_LIMIT,
  };
}
