import type { OpContext } from '../../platform/operation/operation.ts';
import type { HitPlace, HitRow } from './search.policy.ts';
import { ENDS, kindOf, saidBy, textsIn, wordsOf } from './words.store.ts';

type Sql = Pick<OpContext, 'actor' | 'sql'>;

/** What is looked for, where, and after which place. */
export interface Wanted {
  readonly q: string;
  readonly from: Date;
  readonly to: Date;
  readonly agentId: string | null;
  readonly kind: string | null;
  readonly after: HitPlace | undefined;
  readonly limit: number;
}

const KEEPS = `SELECT content FROM account_keeping WHERE account_id = $1`;

export async function keepsContent({ actor, sql }: Sql): Promise<boolean> {
  return (await sql<{ content: string }>(KEEPS, [actor.accountId]))[0]?.content !== 'metadata';
}

/** Words as people type them: quotes keep some together, a minus is without, OR is or. */
const QUERY = `websearch_to_tsquery('simple', $2)`;
const HAS_WORDS = `SELECT numnode(websearch_to_tsquery('simple', $1)) > 0 AND querytree(websearch_to_tsquery('simple', $1)) <> 'T' AS has_words`;

/** Whether there is anything to look for. */
export async function hasWords({ sql }: Sql, q: string): Promise<boolean> {
  return (await sql<{ has_words: boolean }>(HAS_WORDS, [q]))[0]?.has_words ?? false;
}

/** A run's evidence stands under the day of its creation, and goes on for at most so many days. */
const LONGEST_DAYS = 62;
const HERE = `at >= $3::timestamptz AND at < $4::timestamptz AND ($5::text IS NULL OR agent_id = $5) AND ($6::text IS NULL OR kind = $6)
  AND ($7::bigint IS NULL OR (at, run_id, seq, kind) < (timestamptz 'epoch' + $7 * interval '1 microsecond', $8, $9::bigint, $10))`;
const ORDER = 'ORDER BY at DESC, run_id DESC, seq DESC, kind DESC LIMIT $11';
const SHOWN = `run_id, agent_id, seq::float8 AS seq, kind, at, (extract(epoch FROM at) * 1000000)::bigint::text AS micros, span_id,
  ts_headline('simple', translate(text, E'\\uE000\\uE001', ''), ${QUERY}, E'StartSel=\\uE000,StopSel=\\uE001,MaxWords=30,MinWords=10,ShortWord=0') AS excerpt`;

const INDEXED = `
  WITH found AS MATERIALIZED (
    SELECT account_id, run_id, day, seq, kind, agent_id, span_id, at FROM evidence_text
     WHERE account_id = $1 AND words @@ (('''@' || $1 || '''')::tsquery && ${QUERY})
       AND day BETWEEN $3::timestamptz::date - ${LONGEST_DAYS} AND $4::timestamptz::date AND ${HERE} ${ORDER})
  SELECT ${SHOWN} FROM (
    SELECT found.*, CASE found.kind WHEN 'input' THEN ${textsIn('run.input')} WHEN 'output' THEN ${textsIn('run.output')} WHEN 'error' THEN run.error
                         ELSE ${saidBy('log.event')} END AS text
      FROM found
      LEFT JOIN run_content AS run ON run.account_id = $1 AND run.id = found.run_id AND found.kind IN ('input', 'output', 'error')
      LEFT JOIN run_log AS log ON log.account_id = $1 AND log.run_id = found.run_id AND log.day = found.day AND log.seq = found.seq) AS told
   WHERE text IS NOT NULL ORDER BY at DESC, run_id DESC, seq DESC, kind DESC`;

/** Runs that go on, or have just ended, are not in the index: so many of the newest are read, and so much of each. */
const RUNS_READ = 50;
const EVENTS_READ = 300;
const UNINDEXED = `
  WITH run AS MATERIALIZED (
    (SELECT content.* FROM run_content AS content
      WHERE account_id = $1 AND status IN ('queued', 'claimed', 'running') ORDER BY created_at DESC LIMIT ${RUNS_READ})
    UNION ALL
    (SELECT content.* FROM (SELECT account_id, run_id FROM search_pending WHERE account_id = $1 ORDER BY added_at DESC LIMIT ${RUNS_READ}) AS pending
       JOIN run_content AS content ON content.account_id = pending.account_id AND content.id = pending.run_id)),
  said AS (
    SELECT run.id AS run_id, run.agent_id, log.seq, ${kindOf('log.type')} AS kind, log.at, log.event ->> 'span_id' AS span_id, ${saidBy('log.event')} AS text
      FROM run CROSS JOIN LATERAL (
        SELECT seq, type, at, event FROM run_log WHERE account_id = $1 AND run_id = run.id AND day = run.day AND type <> 'run.status'
         ORDER BY seq DESC LIMIT ${EVENTS_READ}) AS log
     WHERE NOT run.is_withheld
    UNION ALL
    SELECT run.id, run.agent_id, said.seq, said.kind, coalesce(said.at, now()), NULL, said.text FROM run CROSS JOIN LATERAL ${ENDS}
     WHERE NOT run.is_withheld)
  SELECT ${SHOWN} FROM (
    SELECT * FROM said WHERE text IS NOT NULL AND ${HERE} AND ${wordsOf('text')} @@ ${QUERY} ${ORDER}) AS told`;

/** What was said in runs that have ended. */
export function indexedHits({ actor, sql }: Sql, wanted: Wanted): Promise<HitRow[]> {
  return sql<HitRow>(INDEXED, valuesOf(actor.accountId, wanted));
}

/** What was said in runs that go on, or have ended this moment. */
export function unindexedHits({ actor, sql }: Sql, wanted: Wanted): Promise<HitRow[]> {
  return sql<HitRow>(UNINDEXED, valuesOf(actor.accountId, wanted));
}

function valuesOf(accountId: string, { q, from, to, agentId, kind, after, limit }: Wanted): unknown[] {
  const place = [after?.micros ?? null, after?.run_id ?? null, after?.seq ?? null, after?.kind ?? null];
  return [accountId, q, from, to, agentId, kind, ...place, limit];
}
