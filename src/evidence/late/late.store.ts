import type { JsonObject } from '../../platform/json/json.ts';
import type { Place } from '../../platform/operation/cursor.ts';
import type { OpContext } from '../../platform/operation/operation.ts';

export interface LateRow {
  readonly id: string;
  readonly at: Date;
  /** The same moment, as lists are ordered by it: microseconds since 1970. */
  readonly micros: string;
  readonly attempt: number | null;
  readonly worker_id: string;
  readonly kind: 'event' | 'message' | 'artifact' | 'output' | 'terminal';
  readonly why: 'stale_attempt' | 'after_end' | 'not_owner';
  readonly content: JsonObject;
}

const DAY_OF = `SELECT day::text AS day FROM run_facts WHERE account_id = $1 AND id = $2`;

/** The day of its evidence; undefined when the account has no such run. */
export async function dayOfRun(ctx: OpContext, runId: string): Promise<string | undefined> {
  return (await ctx.sql<{ day: string }>(DAY_OF, [ctx.actor.accountId, runId]))[0]?.day;
}

/** A report may hold megabytes: this bounds what one page takes, counted as PostgreSQL keeps it. */
const PAGE_BYTES = 2 * 1024 * 1024;
const PAGE = `
  SELECT id, at, (extract(epoch FROM at) * 1000000)::bigint::text AS micros, attempt, worker_id, kind, why, content, found::int AS found
    FROM (SELECT *, sum(pg_column_size(content)) OVER (ORDER BY at, id) - pg_column_size(content) AS bytes_before, count(*) OVER () AS found
            FROM (SELECT * FROM late_evidence
                   WHERE account_id = $1 AND run_id = $2 AND day = $3::date
                     AND ($4::bigint IS NULL OR (at, id) > (timestamptz 'epoch' + $4 * interval '1 microsecond', $5))
                   ORDER BY at, id LIMIT $6) AS wanted) AS counted
   WHERE bytes_before <= ${PAGE_BYTES} ORDER BY at, id`;

export interface LatePlace {
  readonly runId: string;
  readonly day: string;
  /** Where the page before ended. */
  readonly after: Place | undefined;
  readonly limit: number;
}

export interface LatePage {
  readonly rows: readonly LateRow[];
  /** There may be more, and it begins after the last row. */
  readonly isCut: boolean;
}

export async function readLate(ctx: OpContext, { runId, day, after, limit }: LatePlace): Promise<LatePage> {
  const values = [ctx.actor.accountId, runId, day, after?.micros ?? null, after?.id ?? null, limit];
  const rows = await ctx.sql<LateRow & { readonly found: number }>(PAGE, values);
  return { rows, isCut: rows.length === limit || rows.length < (rows[0]?.found ?? 0) };
}
