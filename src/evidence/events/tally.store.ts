import type { OpContext } from '../../platform/operation/operation.ts';
import type { Tally } from './tally.policy.ts';

type Sql = Pick<OpContext, 'actor' | 'sql'>;

/** What the counting statement stands on: SQL for the place of the row and for what else varies. */
interface Terms {
  readonly from: string;
  readonly day: string;
  readonly attempt: string;
  readonly batch: string;
  readonly stored: string;
  /** The first of the six parameters that `tallyValues` fills. */
  readonly first: number;
}

/** A worker that names numbers far apart must not make the row grow for ever; what is beyond this counts as lost. */
const BATCHES_BYTES = 16_384;

/**
 * Counts what a batch brought, in the statement or transaction that stores it: so the account survives whatever the record
 * survives. `batches` holds ranges, and numbers that come in order are one range, however many.
 */
export function tallying({ from, day, attempt, batch, stored, first }: Terms): string {
  const [duplicate, refused, codes, truncated, altered, said] = Array.from({ length: 6 }, (_, at) => `$${first + at}`);
  const skew = `(${said}::float8 - extract(epoch FROM now()) * 1000)::bigint`;
  return `
    INSERT INTO run_intake AS known (account_id, run_id, day, attempt, stored, duplicate, refused, refused_codes, truncated, altered, batches,
                                     skew_min_ms, skew_max_ms)
    SELECT $1, $2, ${day}, ${attempt}, ${stored}, ${duplicate}::int, ${refused}::int, coalesce(${codes}::jsonb, '{}'), ${truncated}::int, ${altered}::int,
           CASE WHEN ${batch}::int IS NULL THEN '{}' ELSE int8multirange(int8range(${batch}::int, ${batch}::int, '[]')) END, ${skew}, ${skew}
      ${from}
    ON CONFLICT (account_id, run_id, attempt, day) DO UPDATE SET
      stored = known.stored + excluded.stored,
      duplicate = known.duplicate + excluded.duplicate,
      refused = known.refused + excluded.refused,
      refused_codes = CASE WHEN excluded.refused = 0 THEN known.refused_codes ELSE (
        SELECT jsonb_object_agg(code, number) FROM (
          SELECT code, sum(number::int) AS number FROM (
            SELECT * FROM jsonb_each_text(known.refused_codes) UNION ALL SELECT * FROM jsonb_each_text(excluded.refused_codes)) AS one (code, number)
           GROUP BY code) AS sums) END,
      truncated = known.truncated + excluded.truncated,
      altered = known.altered + excluded.altered,
      batches = CASE WHEN pg_column_size(known.batches) < ${BATCHES_BYTES} THEN known.batches + excluded.batches ELSE known.batches END,
      skew_min_ms = least(known.skew_min_ms, excluded.skew_min_ms),
      skew_max_ms = greatest(known.skew_max_ms, excluded.skew_max_ms),
      last_at = now()`;
}

export function tallyValues(tally: Tally): readonly unknown[] {
  const { duplicate, refused, refusedCodes, truncated, altered, saidMs } = tally;
  return [duplicate, refused, refusedCodes, truncated, altered, saidMs];
}

const ALONE = tallying({
  from: '',
  day: '$3::date',
  attempt: '$4::int',
  batch: '$5',
  stored: '$6::int',
  first: 7,
});

/** Where nothing was stored, or late. */
export interface TallyPlace {
  readonly runId: string;
  readonly day: string;
  readonly attempt: number;
  readonly streamSeq: number | null;
  readonly stored: number;
}

export async function keepTally(
  { actor, sql }: Sql,
  { runId, day, attempt, streamSeq, stored }: TallyPlace,
  tally: Tally,
): Promise<void> {
  await sql(ALONE, [actor.accountId, runId, day, attempt, streamSeq, stored, ...tallyValues(tally)]);
}
