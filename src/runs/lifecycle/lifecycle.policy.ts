import type { z } from 'zod';
import { wireTime } from '../../platform/clock/clock.ts';
import { isRevivable } from '../threads/threads.policy.ts';
import type { RunDetail, RunSummary } from './lifecycle.contract.ts';
import { LISTED_BYTES, type RunRow } from './lifecycle.store.ts';

export type RunSummaryView = z.output<typeof RunSummary>;
export type RunDetailView = z.output<typeof RunDetail>;

const time = (at: Date | null): string | null => (at === null ? null : wireTime(at));

function common(row: RunRow) {
  return {
    run_id: row.id,
    agent_id: row.agent_id,
    status: row.status,
    error: row.error,
    worker_id: row.worker_id,
    channel: row.channel,
    transport: row.transport,
    event_id: row.event_id,
    thread_id: row.thread_id,
    metadata: row.is_withheld ? {} : row.metadata,
    usage: { ...row.usage },
    created_at: wireTime(row.created_at),
    claimed_at: time(row.claimed_at),
    started_at: time(row.started_at),
    finished_at: time(row.finished_at),
    attempt: row.attempt,
    origin: { kind: row.origin_kind, id: row.origin_id },
    parent_run_id: row.parent_run_id,
    labels: row.labels,
    waiting: waitingOf(row),
    cancel_requested_at: time(row.cancel_requested_at),
  };
}

/** What keeps it: a queued run its turn or a pause, a running one somebody's word. */
function waitingOf({ waiting_kind: kind, waiting_since, approval_since }: RunRow): RunSummaryView['waiting'] {
  if (approval_since !== null) return { kind: 'approval', since: wireTime(approval_since) };
  return kind && { kind, since: wireTime(waiting_since) };
}

/** Where the account keeps no content, an input is there for its worker until the end, and for nobody else. */
function contentOf({ is_withheld, input, output }: RunRow) {
  return is_withheld ? { input: {}, output: null, content_withheld: true } : { input, output };
}

/** A run whole, as single answers show it. */
export function toSummary(row: RunRow): RunSummaryView {
  return { ...common(row), ...contentOf(row), tool_calls: row.tool_calls };
}

/** A run in a list, where large inputs and outputs were left out by the statement that read it. */
export function toListed(row: RunRow): RunSummaryView {
  return {
    ...toSummary(row),
    ...(row.input_bytes > LISTED_BYTES ? { input_truncated: true } : {}),
    ...(row.output_bytes > LISTED_BYTES ? { output_truncated: true } : {}),
  };
}

/** What the details of a run are made of beside its row. */
export type RunRecords = Pick<
  RunDetailView,
  'log_events' | 'messages' | 'trace_events' | 'log_events_truncated' | 'messages_truncated' | 'trace_events_truncated'
>;

export function toDetail(row: RunRow, records: RunRecords): RunDetailView {
  const { diagnostics } = row;
  return { ...common(row), ...contentOf(row), diagnostics, revivable: isRevivable(row), ...records };
}
