import type { OpContext } from '../../platform/operation/operation.ts';
import type { Sealed } from '../../platform/crypto/key-ring.ts';
import { handedOut } from '../../vault/index.ts';
import type { MaskedBy, Sender } from '../events/append.store.ts';
import { withoutContent } from '../events/withheld.store.ts';
import type { WaitingEvent } from '../events/masked.policy.ts';

type Sql = Pick<OpContext, 'sql'>;

/** What is kept of a run, and what a batch is to be masked by. */
export interface TailsRow extends MaskedBy {
  readonly sealed: Sealed | null;
}

const READ = `
  SELECT tails_version AS "tailsVersion", tails, tails_key_id, ${handedOut({ account: '$1', run: '$2', agent: '$3', worker: '$4' })} AS "handedOut"
    FROM run_holds WHERE account_id = $1 AND id = $2`;

/** Undefined for a run that is not there. */
export async function readTails(
  { sql }: Sql,
  accountId: string,
  { runId, agentId, workerId }: Pick<Sender, 'runId' | 'agentId' | 'workerId'>,
): Promise<TailsRow | undefined> {
  type Row = MaskedBy & { readonly tails: Buffer | null; readonly tails_key_id: string | null };
  const [row] = await sql<Row>(READ, [accountId, runId, agentId, workerId]);
  if (!row) return undefined;
  const { tails: bytes, tails_key_id: keyId, handedOut: version, tailsVersion } = row;
  return { handedOut: version, tailsVersion, sealed: bytes && keyId !== null ? { keyId, bytes } : null };
}

export interface RunKey {
  readonly accountId: string;
  readonly runId: string;
}

/** What evidence writes of a run beside its sequence. */
const KEEP = `
  UPDATE run SET masked = masked + $3, tails = $4, tails_key_id = $5, tails_at = CASE WHEN $4::bytea IS NOT NULL THEN now() END,
         held_seq = $6, tails_version = tails_version + 1
   WHERE account_id = $1 AND id = $2 AND tails_version = $7 RETURNING day::text AS day`;

export interface NewTails {
  readonly masked: number;
  readonly sealed: Sealed | null;
  readonly heldSeq: number | null;
  /** Of what it follows. */
  readonly version: number;
}

/** Answers the run's day; undefined when something else is kept by now. */
export async function keepTails(
  { sql }: Sql,
  { accountId, runId }: RunKey,
  { masked, sealed, heldSeq, version }: NewTails,
): Promise<string | undefined> {
  const values = [accountId, runId, masked, sealed?.bytes ?? null, sealed?.keyId ?? null, heldSeq, version];
  return (await sql<{ day: string }>(KEEP, values))[0]?.day;
}

const TELL = `
  INSERT INTO run_log (account_id, run_id, day, seq, at, attempt, type, identity, stream_seq, event, altered, masked)
  SELECT $1, $2, $3::date, seq, at, attempt, type, decode(identity, 'base64'), "streamSeq",
         CASE WHEN (SELECT is_withheld FROM run_content WHERE account_id = $1 AND id = $2) THEN ${withoutContent('event::json')} ELSE event::json END,
         ARRAY(SELECT jsonb_array_elements_text(altered)), nullif(masked, '{}')
    FROM jsonb_to_recordset($4::jsonb) AS told (seq bigint, at timestamptz, attempt int, type text, identity text, "streamSeq" int, event text,
           altered jsonb, masked jsonb)
  ON CONFLICT (account_id, run_id, identity, day) WHERE identity IS NOT NULL DO NOTHING`;

/** Events that waited take the places that were kept for them. */
export async function tellWaited(
  { sql }: Sql,
  { accountId, runId }: RunKey,
  day: string,
  events: readonly WaitingEvent[],
): Promise<void> {
  const rows = events.map(({ event, ...row }) => ({ ...row, event: JSON.stringify(event) })); // as text: jsonb would sort its keys
  await sql(TELL, [accountId, runId, day, JSON.stringify(rows)]);
}

const DUE = `
  SELECT account_id AS "accountId", id AS "runId", agent_id AS "agentId" FROM run_holds
   WHERE tails_at IS NOT NULL
     AND (tails_at < now() - make_interval(secs => $2)
          OR held_seq IS NOT NULL AND (finished_at IS NOT NULL OR tails_at < now() - make_interval(secs => $1)))
   ORDER BY tails_at LIMIT $3`;

/** Runs of which something has waited for too long, or that have ended. */
export function dueTails(
  { sql }: Sql,
  limits: { readonly heldSeconds: number; readonly keptSeconds: number; readonly most: number },
): Promise<(RunKey & { readonly agentId: string })[]> {
  return sql(DUE, [limits.heldSeconds, limits.keptSeconds, limits.most]);
}

const LOCK = `
  SELECT tails_version AS version, tails, tails_key_id, finished_at IS NOT NULL OR tails_at < now() - make_interval(secs => $3) AS "isOver"
    FROM run WHERE account_id = $1 AND id = $2 AND tails IS NOT NULL FOR UPDATE SKIP LOCKED`;

export interface LockedTails {
  readonly version: number;
  readonly sealed: Sealed;
  /** Not even what was told is to be remembered any more. */
  readonly isOver: boolean;
}

export async function lockTails(
  { sql }: Sql,
  { accountId, runId }: RunKey,
  keptSeconds: number,
): Promise<LockedTails | undefined> {
  type Row = { version: number; tails: Buffer; tails_key_id: string; isOver: boolean };
  const [row] = await sql<Row>(LOCK, [accountId, runId, keptSeconds]);
  return row && { version: row.version, isOver: row.isOver, sealed: { keyId: row.tails_key_id, bytes: row.tails } };
}
