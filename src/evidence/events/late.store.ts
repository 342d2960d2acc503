import type { OpContext } from '../../platform/operation/operation.ts';
import { withoutContent } from './withheld.store.ts';
import type { ReadyEvent } from './batch.policy.ts';
import type { Sender } from './append.store.ts';

type Sql = Pick<OpContext, 'actor' | 'sql'>;

/** Late rows have no number: the microsecond keeps the order of a batch. */
const KEEP = `
  INSERT INTO late_evidence (account_id, run_id, day, id, at, attempt, worker_id, kind, why, content)
  SELECT $1, $2, $3::date, id, now() + place * interval '1 microsecond', $4, $5, $6, $7,
         CASE WHEN $10 THEN json_build_object('event', ${withoutContent("(content::json -> 'event')")}, 'altered', content::json -> 'altered',
                                              'truncated', content::json -> 'truncated', 'masked', content::json -> 'masked', 'stream_seq', content::json -> 'stream_seq')
              ELSE content::json END
    FROM unnest($8::text[], string_to_array($9, E'\\n')) WITH ORDINALITY AS item (id, content, place)
  ON CONFLICT (account_id, run_id, id, day) DO NOTHING RETURNING id`;
const KEEP_ARTIFACTS = `
  INSERT INTO artifact (account_id, run_id, day, id, name, mime_type, content, bytes, is_cut)
  SELECT $1, $2, $3::date, id, name, "mimeType", CASE WHEN $5 THEN '' ELSE content END, bytes, "isCut"
    FROM json_to_recordset($4::json) AS made (id text, name text, "mimeType" text, content text, bytes int, "isCut" boolean)`;

export interface LateBatch {
  readonly day: string;
  readonly attempt: number | null;
  readonly why: 'stale_attempt' | 'after_end' | 'not_owner';
  readonly kind: 'event' | 'message';
  /** Nothing that was said is kept. */
  readonly isWithheld: boolean;
  readonly events: readonly ReadyEvent[];
  /** Of each event, so that a repeat is kept once. */
  readonly ids: readonly string[];
}

/** Keeps what changes nothing any more. Answers which of them were not known. */
export async function keepLateEvents(
  { actor, sql }: Sql,
  { runId, workerId, streamSeq }: Sender,
  batch: LateBatch,
): Promise<ReadyEvent[]> {
  const { day, attempt, why, kind, isWithheld, events, ids } = batch;
  const lines = events.map(({ text, altered, truncated, masked = {} }) => {
    const [ofText, ofFields, ofMask] = [altered, truncated, masked].map((mark) => JSON.stringify(mark));
    return `{"event":${text},"altered":${ofText},"truncated":${ofFields},"masked":${ofMask},"stream_seq":${streamSeq}}`;
  });
  const kept = await sql<{ id: string }>(KEEP, [
    actor.accountId,
    runId,
    day,
    attempt,
    workerId,
    kind,
    why,
    ids,
    lines.join('\n'),
    isWithheld,
  ]);
  const artifacts = events.flatMap((event) => event.artifacts);
  if (artifacts.length > 0)
    await sql(KEEP_ARTIFACTS, [actor.accountId, runId, day, JSON.stringify(artifacts), isWithheld]);
  const fresh = new Set(kept.map(({ id }) => id));
  return events.filter((_, index) => fresh.delete(ids[index] ?? ''));
}
