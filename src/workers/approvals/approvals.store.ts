import type { Database } from '../../platform/db/database.ts';

/** What a worker is still to be told about what it asked for. */
export interface UntoldRow {
  readonly id: string;
  readonly worker_id: string;
  readonly agent_id: string;
  readonly state: 'approved' | 'denied' | 'expired';
  readonly comment: string | null;
  readonly decided_label: string | null;
  readonly decided_via: string | null;
}

const COLUMNS = 'id, worker_id, agent_id, state, comment, decided_label, decided_via';
const ONE = `SELECT ${COLUMNS} FROM approval_untold WHERE account_id = $1 AND id = $2`;
const OF_WORKER = `SELECT ${COLUMNS} FROM approval_untold WHERE account_id = $1 AND worker_id = $2 ORDER BY decided_at, id LIMIT 100`;

export async function untold(
  database: Database,
  accountId: string,
  which: { readonly approvalId: string } | { readonly workerId: string },
): Promise<UntoldRow[]> {
  const [text, id] = 'approvalId' in which ? [ONE, which.approvalId] : [OF_WORKER, which.workerId];
  return database.asAccount(
    accountId,
    (transaction) => transaction.query<UntoldRow & object>({ text, values: [accountId, id] }),
    'read',
  );
}

const WAITING = `
  SELECT DISTINCT a.account_id, a.worker_id
    FROM approval_untold AS a
    JOIN worker AS w ON w.account_id = a.account_id AND w.id = a.worker_id AND w.channel_replica = $1 AND w.channel_closed_at IS NULL
   LIMIT 500`;

/** Workers whose channel is on a replica, and that may not know a word yet. */
export async function workersToTell(
  database: Database,
  replicaId: string,
): Promise<{ readonly account_id: string; readonly worker_id: string }[]> {
  return database.acrossAccounts({ text: WAITING, values: [replicaId] });
}
