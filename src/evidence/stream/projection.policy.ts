import { wireTime } from '../../platform/clock/clock.ts';
import { isJsonObject, type JsonObject } from '../../platform/json/json.ts';
import { END_NUMBERS, type RunRow, type RunStatus } from '../../runs/index.ts';
import type { LogRow } from '../events/log.store.ts';
import { toEventView } from '../events/view.policy.ts';

/** One event of a run's stream. Its id is its number in the run's sequence. */
export interface StreamEvent {
  readonly id: number;
  readonly event:
    'run.status' | 'run.event' | 'message.delta' | 'message.completed' | 'output' | 'error' | 'gap' | 'moved' | 'done';
  readonly data: object;
}

/** What of a run that has ended its last events are made of. */
export interface EndedRun {
  readonly status: RunStatus;
  readonly output: Readonly<JsonObject> | null;
  readonly error: string | null;
  readonly end_code: string | null;
}

/** The texts of an answer as far as a reader has it, so that what comes next is told as the difference. */
export class SpokenText {
  private spoken: string;

  constructor(spoken = '') {
    this.spoken = spoken;
  }

  get text(): string {
    return this.spoken;
  }

  /** The step from what was said to `text`: what is added, or everything again where something was replaced. */
  next(text: string): { readonly delta: string; readonly reset?: true } {
    const before = this.spoken;
    this.spoken = text;
    return text.startsWith(before) ? { delta: text.slice(before.length) } : { delta: text, reset: true };
  }
}

/** The text of a partial output; undefined where the output has none. */
export function partialText({ type, event }: LogRow): string | undefined {
  if (type !== 'output.updated' || !isJsonObject(event['payload'])) return undefined;
  const { text } = event['payload'];
  return typeof text === 'string' ? text : undefined;
}

/** A move of the run. */
export function statusEvent(runId: string, { seq, at, attempt, event }: LogRow): StreamEvent {
  const { status, worker_id, code } = event;
  return {
    id: seq,
    event: 'run.status',
    data: { run_id: runId, status, attempt, worker_id: worker_id ?? null, at: wireTime(at), code: code ?? null },
  };
}

/**
 * One row of the sequence as a live reader gets it. `text` is that of a partial output, whole, also where it became an
 * artifact.
 */
export function rowEvent(runId: string, row: LogRow, spoken: SpokenText, text: string | undefined): StreamEvent {
  if (row.is_status) return statusEvent(runId, row);
  if (row.type !== 'output.updated') return { id: row.seq, event: 'run.event', data: toEventView(row) };
  if (text !== undefined) return { id: row.seq, event: 'message.delta', data: spoken.next(text) };
  return { id: row.seq, event: 'output', data: { output: row.event['payload'] ?? {}, final: false } };
}

/**
 * What a run says at its end, from its row and the last move of its sequence. The move stands at the last of the numbers
 * that the end takes; the others are derived, so that every reader at any time sees the same.
 */
export function endEvents(runId: string, run: EndedRun, last: LogRow, spoken: SpokenText): StreamEvent[] {
  const first = last.seq - END_NUMBERS + 1;
  const text = run.output?.['text'];
  const events: StreamEvent[] = [];
  if (typeof text === 'string') {
    if (text !== spoken.text) events.push({ id: first, event: 'message.delta', data: spoken.next(text) });
    events.push({ id: first + 1, event: 'message.completed', data: { text } });
  }
  if (run.output !== null) events.push({ id: first + 2, event: 'output', data: { output: run.output, final: true } });
  if (run.status === 'failed')
    events.push({ id: first + 3, event: 'error', data: { code: run.end_code, detail: run.error } });
  return [...events, statusEvent(runId, last)];
}

/** The last row of a run's sequence, made from the run: for when the sequence itself is kept no longer. */
export function endOf(run: RunRow): LogRow {
  const { last_seq: seq, finished_at: at, attempt, status, worker_id, end_code: code } = run;
  const event = { status, worker_id, code };
  const row = { seq, at: at ?? run.created_at, attempt, event };
  return { ...row, type: 'run.status', is_status: true, stream_seq: null, altered: null, truncated: null };
}

/** Whether a reader that asked for some events only gets this one; the end of a stream is told to all. */
export function isWanted({ event, data }: StreamEvent, types: ReadonlySet<string> | undefined): boolean {
  if (!types || event === 'done' || event === 'moved' || event === 'gap') return true;
  if (types.has(event)) return true;
  return (
    event === 'run.event' && 'event_type' in data && typeof data.event_type === 'string' && types.has(data.event_type)
  );
}
