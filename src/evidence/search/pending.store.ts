import type { Transaction } from '../../platform/db/transaction.ts';
import { ENDS, accountWord, kindOf, saidBy, wordsOf } from './words.store.ts';

/** So many events of a run are read at a time: a run of a hundred thousand takes many turns. */
const EVENTS_A_TURN = 1_000;

/**
 * Puts the next events of some ended runs into the index, where the run before has stopped, and lets go of the runs that are done.
 * Of a run with an event that still waits for its place nothing is read, because nobody would come back for it. The last event of a piece is put there whatever it says: the next piece begins behind it.
 */
const INDEX = `
  WITH taken AS MATERIALIZED (
    SELECT account_id, run_id, day FROM search_pending
     WHERE NOT EXISTS (SELECT FROM run_holds WHERE run_holds.account_id = search_pending.account_id AND id = run_id AND held_seq IS NOT NULL)
     ORDER BY added_at LIMIT $1 FOR UPDATE SKIP LOCKED),
  piece AS MATERIALIZED (
    SELECT taken.account_id, taken.run_id, taken.day, log.*, row_number() OVER (PARTITION BY taken.account_id, taken.run_id ORDER BY log.seq DESC) = 1 AS is_last
      FROM taken CROSS JOIN LATERAL (
        SELECT seq, type, at, event FROM run_log
         WHERE account_id = taken.account_id AND run_id = taken.run_id AND day = taken.day AND seq > (
           SELECT coalesce(max(seq), 0) FROM evidence_text AS text
            WHERE text.account_id = taken.account_id AND text.run_id = taken.run_id AND text.day = taken.day
              AND kind NOT IN ('input', 'output', 'error'))
         ORDER BY seq LIMIT ${EVENTS_A_TURN}) AS log),
  events AS (
    INSERT INTO evidence_text (account_id, run_id, day, seq, kind, agent_id, span_id, at, words)
    SELECT account_id, run_id, day, seq, ${kindOf('type')}, agent_id, span_id, at, ${accountWord('account_id')} || words
      FROM (SELECT piece.account_id, run_id, piece.day, seq, type, is_last, at, run.agent_id, left(event ->> 'span_id', 1000) AS span_id,
                   CASE WHEN type = 'run.status' THEN '' ELSE ${wordsOf(saidBy('event'))} END AS words
              FROM piece JOIN run_content AS run ON run.account_id = piece.account_id AND run.id = piece.run_id) AS said
     WHERE words <> '' OR is_last
    ON CONFLICT (account_id, run_id, seq, kind, day) DO NOTHING),
  done AS (
    DELETE FROM search_pending USING taken
     WHERE search_pending.account_id = taken.account_id AND search_pending.run_id = taken.run_id AND ${EVENTS_A_TURN} > (
       SELECT count(*) FROM piece WHERE piece.account_id = taken.account_id AND piece.run_id = taken.run_id)
    RETURNING search_pending.account_id, search_pending.run_id),
  ends AS (
    INSERT INTO evidence_text (account_id, run_id, day, seq, kind, agent_id, at, words)
    SELECT run.account_id, run.id, run.day, said.seq, said.kind, run.agent_id, coalesce(said.at, run.created_at), ${accountWord('run.account_id')} || ${wordsOf('said.text')}
      FROM done JOIN run_content AS run ON run.account_id = done.account_id AND run.id = done.run_id CROSS JOIN LATERAL ${ENDS}
     WHERE said.text IS NOT NULL AND NOT run.is_withheld
    ON CONFLICT (account_id, run_id, seq, kind, day) DO NOTHING)
  SELECT (SELECT count(*) FROM taken)::int AS taken, (SELECT count(*) FROM done)::int AS done`;

export interface Indexed {
  /** Runs that were looked at, and those of them that are whole in the index now. */
  readonly taken: number;
  readonly done: number;
}

export async function indexSome(system: Transaction, runs: number): Promise<Indexed> {
  const [row] = await system.query<Indexed>({ text: INDEX, values: [runs] });
  return row ?? { taken: 0, done: 0 };
}

const FORGET = `
  DELETE FROM search_pending WHERE (account_id, run_id) IN (
    SELECT account_id, run_id FROM search_pending ORDER BY added_at LIMIT 1 FOR UPDATE SKIP LOCKED)
  RETURNING account_id, run_id`;

/** Lets go of the first run, which cannot be read. */
export async function forgetFirst(system: Transaction): Promise<{ account_id: string; run_id: string } | undefined> {
  return (await system.query<{ account_id: string; run_id: string }>({ text: FORGET, values: [] }))[0];
}
