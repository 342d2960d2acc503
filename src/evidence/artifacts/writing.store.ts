import type { OpContext } from '../../platform/operation/operation.ts';
import type { ArtifactRow } from './artifacts.store.ts';

type Sql = Pick<OpContext, 'actor' | 'sql'>;

/** Who writes. A REST call names no worker: there the token speaks for whichever worker of its agent holds the run. */
export interface Writer {
  readonly runId: string;
  readonly agentId: string;
  readonly workerId: string | null;
  readonly attempt: number | null;
}

export interface WrittenArtifact {
  readonly id: string;
  readonly name: string;
  readonly mimeType: string;
  readonly content: string;
  readonly bytes: number;
  /** What could not be stored as it was sent. */
  readonly altered: readonly string[];
}

/** The artifact takes a number of the run's sequence under the run's lock: so it is told before the end (F-38). */
const HELD = `
  held AS (
    UPDATE run SET last_seq = last_seq + 1
     WHERE account_id = $1 AND id = $2 AND agent_id = $3 AND ($4::text IS NULL OR worker_id = $4) AND status IN ('claimed', 'running')
       AND ($5::int IS NULL OR attempt = $5)
    RETURNING day, attempt, last_seq, is_withheld)`;
const told = (type: string): string => `
  logged AS (
    INSERT INTO run_log (account_id, run_id, day, seq, attempt, type, event, altered)
    SELECT $1, $2, held.day, held.last_seq, held.attempt, '${type}',
           json_build_object('event_type', '${type}', 'name', $7::text,
                             'payload', json_build_object('artifact_id', $6::text, 'mime_type', $8::text, 'bytes', $10::int)),
           nullif($11::text[], '{}')
      FROM held, stored)
  SELECT held.day::text AS day, stored.* FROM held LEFT JOIN stored ON true`;
const KEPT = `CASE WHEN held.is_withheld THEN '' ELSE $9 END`;
const SHOWN = 'id, name, mime_type, bytes, is_cut, created_at';

const ADD = `
  WITH ${HELD},
  stored AS (
    INSERT INTO artifact (account_id, run_id, day, id, name, mime_type, content, bytes, is_written)
    SELECT $1, $2, held.day, $6, $7, $8, ${KEPT}, $10, true FROM held
    ON CONFLICT (account_id, run_id, id, day) DO NOTHING
    RETURNING ${SHOWN}),
  ${told('artifact.created')}`;
const OVERWRITE = `
  WITH ${HELD},
  stored AS (
    UPDATE artifact SET name = $7, mime_type = $8, content = ${KEPT}, bytes = $10
      FROM held WHERE account_id = $1 AND run_id = $2 AND artifact.day = held.day AND id = $6 AND is_written
    RETURNING ${SHOWN}),
  ${told('artifact.updated')}`;

/** What became of a writing. Without an id, the run was held and nothing was written. */
export type Written = { readonly day: string } & (ArtifactRow | { readonly id: null });

/** Undefined when the writer does not hold the run. Nothing is added where the id is taken already: it came twice. */
export async function addArtifact(ctx: Sql, writer: Writer, artifact: WrittenArtifact): Promise<Written | undefined> {
  return write(ctx, ADD, writer, artifact);
}

/** Undefined when the writer does not hold the run. */
export async function overwriteArtifact(
  ctx: Sql,
  writer: Writer,
  artifact: WrittenArtifact,
): Promise<Written | undefined> {
  return write(ctx, OVERWRITE, writer, artifact);
}

async function write(
  { actor, sql }: Sql,
  text: string,
  { runId, agentId, workerId, attempt }: Writer,
  { id, name, mimeType, content, bytes, altered }: WrittenArtifact,
): Promise<Written | undefined> {
  const who = [actor.accountId, runId, agentId, workerId, attempt];
  return (await sql<Written>(text, [...who, id, name, mimeType, content, bytes, altered]))[0];
}

const KEEP_LATE = `
  INSERT INTO late_evidence (account_id, run_id, day, id, attempt, worker_id, kind, why, content)
  VALUES ($1, $2, $3::date, $4, $5, $6, 'artifact', $7, $8::json)
  ON CONFLICT (account_id, run_id, id, day) DO NOTHING`;

export interface LateArtifact {
  readonly id: string;
  readonly day: string;
  readonly attempt: number | null;
  readonly why: 'stale_attempt' | 'after_end' | 'not_owner';
  /** Whole, as JSON. */
  readonly content: string;
}

/** Kept beside the record: it is no artifact of the run, so it stands in no list of them. */
export async function keepLateArtifact(
  { actor, sql }: Sql,
  { runId, workerId }: Pick<Writer, 'runId' | 'workerId'>,
  { id, day, attempt, why, content }: LateArtifact,
): Promise<void> {
  await sql(KEEP_LATE, [actor.accountId, runId, day, id, attempt, workerId ?? '', why, content]);
}
