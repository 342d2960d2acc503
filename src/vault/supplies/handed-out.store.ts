import type { Database } from '../../platform/db/database.ts';

/** A value that went out, and where: a run without any has one row without a value. */
export interface HandedOutRow {
  readonly agent_id: string;
  readonly attempt: number;
  readonly credential_id: string | null;
  readonly version: number;
  readonly sealed: Buffer;
  readonly sealed_key_id: string;
}

const FIND = `
  SELECT r.agent_id, r.attempt, v.credential_id, v.version, v.sealed, v.sealed_key_id
    FROM run_facts r
    LEFT JOIN LATERAL (
      SELECT given.credential_id, given.version, kept.sealed, kept.sealed_key_id
        FROM (SELECT credential_id, version FROM credential_handout WHERE account_id = $1 AND run_id = $2
               UNION SELECT credential_id, version FROM credential_pull WHERE account_id = $1 AND agent_id = r.agent_id) AS given
        JOIN credential_value kept
          ON kept.account_id = $1 AND kept.credential_id = given.credential_id AND kept.version = given.version) AS v ON true
   WHERE r.account_id = $1 AND r.id = $2`;

/** Outside of any transaction: whoever asks may hold one. */
export function findHandedOut(database: Database, accountId: string, runId: string): Promise<HandedOutRow[]> {
  return database.acrossAccounts<HandedOutRow>({ text: FIND, values: [accountId, runId] });
}
