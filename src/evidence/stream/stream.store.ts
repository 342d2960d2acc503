import type { Database } from '../../platform/db/database.ts';
import type { Reading, RunPlace } from '../events/log.store.ts';
import { findArtifact } from '../artifacts/artifacts.store.ts';

/** Reads for a stream, in a transaction that is over when the rows are there: a stream holds none. */
export function readingOf(database: Database, accountId: string): Reading {
  return {
    sql: (text, values = []) =>
      database.asAccount(accountId, (transaction) => transaction.query({ text, values }), 'read'),
  };
}

const SPOKEN = `
  SELECT event #>> '{payload,text}' AS text, (SELECT mark ->> 'artifact_id' FROM jsonb_array_elements(truncated) AS mark WHERE mark ->> 'path' = 'payload.text') AS artifact_id
    FROM run_log WHERE account_id = $1 AND run_id = $2 AND day = $3::date AND seq <= $4 AND type = 'output.updated'
     AND json_typeof(event #> '{payload,text}') = 'string' ORDER BY seq DESC LIMIT 1`;

/** The text of the answer as it stood at a number. */
export async function textAt(reading: Reading, place: RunPlace, seq: number): Promise<string> {
  const { accountId, runId, day } = place;
  const [row] = await reading.sql<{ text: string; artifact_id: string | null }>(SPOKEN, [accountId, runId, day, seq]);
  if (!row) return '';
  return row.artifact_id === null
    ? row.text
    : ((await findArtifact(reading, place, row.artifact_id))?.content ?? row.text);
}

const MORE = `
  SELECT FROM run_log WHERE account_id = $1 AND run_id = $2 AND day = $3::date AND seq > $4 LIMIT 1`;

/** Whether a run's record goes on after a number, be it that it may not be told yet. */
export async function hasMore(reading: Reading, { accountId, runId, day }: RunPlace, seq: number): Promise<boolean> {
  return (await reading.sql(MORE, [accountId, runId, day, seq])).length > 0;
}

const GROWN = `
  SELECT place::int AS place
    FROM unnest($1::text[], $2::text[], $3::date[], $4::bigint[]) WITH ORDINALITY AS run (account_id, id, day, seen, place)
   WHERE EXISTS (SELECT FROM run_log AS log WHERE log.account_id = run.account_id AND log.run_id = run.id AND log.day = run.day AND log.seq > run.seen)`;

/** How far a reader has read. */
export type Seen = RunPlace & { readonly seq: number };

/** Which of these runs have grown beyond what was read of them: one statement for all the readers of a replica. */
export async function grownRuns<Reader extends Seen>(
  database: Database,
  readers: readonly Reader[],
): Promise<Reader[]> {
  const columns = [
    readers.map((one) => one.accountId),
    readers.map((one) => one.runId),
    readers.map((one) => one.day),
    readers.map((one) => one.seq),
  ];
  const rows = await database.acrossAccounts<{ place: number }>({ text: GROWN, values: columns });
  return rows.flatMap(({ place }) => readers[place - 1] ?? []);
}
