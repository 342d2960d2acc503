import type { OpContext } from '../../platform/operation/operation.ts';
import { sumOfLeaves, type Usage } from './usage.policy.ts';

type Sql = Pick<OpContext, 'actor' | 'sql'>;

/**
 * Sums by who was asked, so that fifty thousand model calls come back as a few rows. A span with usage somewhere below it
 * is no leaf: `above` walks up from every span with usage, each step of the tree once.
 */
const LEAVES = `
  WITH RECURSIVE above AS (
    SELECT parent_span_id AS id FROM run_span
     WHERE account_id = $1 AND run_id = $2 AND day = $3::date AND usage IS NOT NULL AND parent_span_id IS DISTINCT FROM span_id
    UNION
    SELECT span.parent_span_id FROM above JOIN run_span AS span
        ON span.account_id = $1 AND span.run_id = $2 AND span.day = $3::date AND span.span_id = above.id)
  SELECT json_strip_nulls(json_build_object(
           'provider', usage ->> 'provider', 'model', usage ->> 'model', 'currency', usage ->> 'currency', 'cost_source', usage ->> 'cost_source',
           'input_tokens', sum((usage ->> 'input_tokens')::numeric), 'cached_input_tokens', sum((usage ->> 'cached_input_tokens')::numeric),
           'cache_write_input_tokens', sum((usage ->> 'cache_write_input_tokens')::numeric),
           'output_tokens', sum((usage ->> 'output_tokens')::numeric), 'total_tokens', sum((usage ->> 'total_tokens')::numeric),
           'cost_amount', sum((usage ->> 'cost_amount')::numeric))) AS leaves
    FROM run_span
   WHERE account_id = $1 AND run_id = $2 AND day = $3::date AND usage IS NOT NULL AND span_id NOT IN (SELECT id FROM above WHERE id IS NOT NULL)
   GROUP BY usage ->> 'provider', usage ->> 'model', usage ->> 'currency', usage ->> 'cost_source'`;

const KEEP = `
  UPDATE run SET usage = $3::jsonb, usage_source = 'spans'
   WHERE account_id = $1 AND id = $2 AND usage_source IS DISTINCT FROM 'total' AND status IN ('claimed', 'running')`;

/**
 * Makes the sum of the run's leaf spans its usage, unless the worker keeps a total of its own. In the transaction that
 * stored the spans, which holds the run's row: no other batch comes between.
 */
export async function keepSumOfSpans({ actor, sql }: Sql, runId: string, day: string): Promise<void> {
  const groups = await sql<{ leaves: Usage }>(LEAVES, [actor.accountId, runId, day]);
  const sum = sumOfLeaves(groups.map(({ leaves }) => leaves));
  if (sum) await sql(KEEP, [actor.accountId, runId, JSON.stringify(sum)]);
}
