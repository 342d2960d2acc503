import type { Database } from '../../platform/db/database.ts';
import type { Transaction } from '../../platform/db/transaction.ts';
import { writeJson } from '../../platform/json/json.ts';
import type { Place } from '../../platform/operation/cursor.ts';
import type { OpContext } from '../../platform/operation/operation.ts';
import type { ApprovalState, Proposal } from './proposal.policy.ts';

type Asking = Pick<OpContext, 'actor' | 'sql'>;

export interface ApprovalRow {
  readonly id: string;
  readonly kind: 'action' | 'workflow_step' | 'gateway_call';
  readonly state: ApprovalState;
  readonly agent_id: string;
  readonly run_id: string;
  readonly attempt: number;
  readonly worker_id: string;
  readonly tool_use_id: string;
  readonly tool_name: string;
  readonly rule_id: string;
  readonly rule_name: string | null;
  readonly arguments: unknown;
  readonly arguments_bytes: number;
  readonly arguments_hash: string;
  readonly asked_by: string | null;
  readonly asked_at: Date;
  readonly expires_at: Date;
  readonly decided_at: Date | null;
  readonly decided_by: string | null;
  readonly decided_label: string | null;
  readonly decided_via: 'inbox' | 'run' | 'chat' | 'slack' | 'mcp' | null;
  readonly comment: string | null;
  readonly delivered_at: Date | null;
}

/** Longer arguments are left out of lists. */
export const LISTED_BYTES = 64 * 1024;

/** Its attempt is not under way any more: nobody waits for the word. */
const IS_OVER = `NOT EXISTS (
  SELECT FROM run_facts AS run WHERE run.account_id = a.account_id AND run.id = a.run_id AND run.attempt = a.attempt
     AND run.status IN ('claimed', 'running'))`;
/** Whoever keeps no content of runs keeps none of what they wanted to do either, once nobody waits for a word about it. */
const KEPT_ARGUMENTS = `CASE WHEN EXISTS (
  SELECT FROM run_content AS c WHERE c.account_id = a.account_id AND c.id = a.run_id AND c.is_withheld) THEN NULL ELSE a.arguments END`;
/** As it stands this very moment, whether or not a sweep has been by. Of two ends the earlier one counts. */
const STATE = `CASE
    WHEN a.state <> 'pending' THEN a.state
    WHEN a.expires_at <= coalesce((SELECT run.finished_at FROM run_facts AS run WHERE run.account_id = a.account_id AND run.id = a.run_id), now()) THEN 'expired'
    WHEN ${IS_OVER} THEN 'withdrawn'
    ELSE 'pending' END`;
const REST = `a.id, a.kind, ${STATE} AS state, a.agent_id, a.run_id, a.attempt, a.worker_id, a.tool_use_id, a.tool_name, a.rule_id, a.rule_name,
  a.arguments_bytes, a.arguments_hash, a.asked_by, a.asked_at, a.expires_at, a.decided_at, a.decided_by, a.decided_label, a.decided_via,
  a.comment, a.delivered_at`;
const WHOLE = `${REST}, a.arguments`;

const FIND = `SELECT ${WHOLE} FROM approval AS a WHERE a.account_id = $1 AND a.id = $2`;

export async function findApproval({ actor, sql }: Asking, id: string): Promise<ApprovalRow | undefined> {
  return (await sql<ApprovalRow>(FIND, [actor.accountId, id]))[0];
}

export interface ApprovalFilter {
  readonly runId: string | null;
  readonly agentId: string | null;
  readonly kind: string | null;
  readonly state: ApprovalState | null;
  readonly after: Place | undefined;
  readonly limit: number;
}

/** Each order of the list has an index; what still waits has one of its own. */
function listText({ state }: ApprovalFilter): string {
  return `
  SELECT ${REST}, CASE WHEN a.arguments_bytes <= ${LISTED_BYTES} THEN a.arguments END AS arguments,
         (extract(epoch FROM a.asked_at) * 1000000)::bigint::text AS micros
    FROM approval AS a
   WHERE a.account_id = $1 AND ($2::text IS NULL OR a.run_id = $2) AND ($3::text IS NULL OR a.agent_id = $3)
     AND ($4::text IS NULL OR a.kind = $4) AND ($5::text IS NULL OR ${STATE} = $5) ${state === 'pending' ? `AND a.state = 'pending'` : ''}
     AND ($6::bigint IS NULL OR (a.asked_at, a.id) < (timestamptz 'epoch' + $6 * interval '1 microsecond', $7))
   ORDER BY a.asked_at DESC, a.id DESC LIMIT $8`;
}

const BY_IDS = `
  SELECT ${REST}, CASE WHEN a.arguments_bytes <= ${LISTED_BYTES} THEN a.arguments END AS arguments
    FROM approval AS a WHERE a.account_id = $1 AND a.id = ANY ($2)`;

/** As lists show them. */
export async function approvalRowsById({ actor, sql }: Asking, ids: readonly string[]): Promise<ApprovalRow[]> {
  return sql<ApprovalRow>(BY_IDS, [actor.accountId, ids]);
}

export type ListedApproval = ApprovalRow & { readonly micros: string };

export async function listApprovalRows({ actor, sql }: Asking, filter: ApprovalFilter): Promise<ListedApproval[]> {
  const { runId, agentId, kind, state, after, limit } = filter;
  const place = [after?.micros ?? null, after?.id ?? null];
  return sql<ListedApproval>(listText(filter), [actor.accountId, runId, agentId, kind, state, ...place, limit]);
}

const INSERT = `
  INSERT INTO approval AS a (account_id, id, kind, agent_id, run_id, attempt, worker_id, tool_use_id, tool_name, rule_id, rule_name, arguments,
                        arguments_bytes, arguments_hash, asked_by, expires_at)
  VALUES ($1, $2, 'action', $3, $4, $5, $6, $7, $8, $9, $10, $11::json, $12, $13, $14, now() + make_interval(secs => $15))
  ON CONFLICT (account_id, run_id, attempt, tool_use_id, arguments_hash) DO NOTHING
  RETURNING ${WHOLE}`;

/** Undefined when the very same was asked before. `stored` are the arguments as they may be kept. */
export async function insertApproval(
  { actor, sql }: Asking,
  id: string,
  proposal: Proposal,
  { stored, hash, windowSeconds }: { readonly stored: unknown; readonly hash: string; readonly windowSeconds: number },
): Promise<ApprovalRow | undefined> {
  const text = stored === null ? null : writeJson(stored);
  const [row] = await sql<ApprovalRow>(INSERT, [
    actor.accountId,
    id,
    proposal.agentId,
    proposal.runId,
    proposal.attempt,
    proposal.workerId,
    proposal.toolUseId,
    proposal.toolName,
    proposal.ruleId,
    proposal.ruleName,
    text,
    text === null ? 0 : Buffer.byteLength(text),
    hash,
    proposal.askedBy,
    windowSeconds,
  ]);
  return row;
}

/** The worker knows the word once it was answered with it: it need not be told again. */
const ASKED_AGAIN = `
  UPDATE approval AS a SET
    delivered_at = CASE WHEN ${STATE} = 'pending' THEN a.delivered_at ELSE coalesce(a.delivered_at, now()) END,
    settled_at = CASE WHEN a.state = 'pending' THEN a.settled_at ELSE coalesce(a.settled_at, now()) END,
    arguments = CASE WHEN a.state = 'pending' THEN a.arguments ELSE ${KEPT_ARGUMENTS} END
   WHERE a.account_id = $1 AND a.run_id = $2 AND a.attempt = $3 AND a.tool_use_id = $4 AND a.arguments_hash = $5
  RETURNING ${WHOLE}`;

export async function askAgain(
  { actor, sql }: Asking,
  { runId, attempt, toolUseId }: Proposal,
  hash: string,
): Promise<ApprovalRow | undefined> {
  return (await sql<ApprovalRow>(ASKED_AGAIN, [actor.accountId, runId, attempt, toolUseId, hash]))[0];
}

/** One guarded UPDATE decides; of two deciders the second finds nothing to decide. */
const DECIDE = `
  UPDATE approval AS a SET state = $3, comment = $4, decided_at = now(), decided_by = $5, decided_via = 'inbox',
         decided_label = coalesce((SELECT label FROM principal_label WHERE account_id = $1 AND id = $5), $5)
   WHERE a.account_id = $1 AND a.id = $2 AND a.state = 'pending' AND a.expires_at > now() AND NOT ${IS_OVER}
     AND ($6::text IS NULL OR a.arguments_hash = $6)
  RETURNING ${WHOLE}`;

export interface Decision {
  readonly state: 'approved' | 'denied';
  readonly comment: string | null;
  readonly argumentsHash: string | null;
}

export async function decideRow(
  { actor, sql }: Asking,
  id: string,
  { state, comment, argumentsHash }: Decision,
): Promise<ApprovalRow | undefined> {
  return (await sql<ApprovalRow>(DECIDE, [actor.accountId, id, state, comment, actor.id, argumentsHash]))[0];
}

const DELIVERED = `
  UPDATE approval SET delivered_at = now() WHERE account_id = $1 AND id = ANY ($2::text[]) AND delivered_at IS NULL`;

export async function markDelivered(database: Database, accountId: string, ids: readonly string[]): Promise<void> {
  await database.asAccount(accountId, (transaction) =>
    transaction.query({ text: DELIVERED, values: [accountId, ids] }),
  );
}

const BATCH = 500;
/** What nobody decided in time; then what nobody waits for any more, undecided or not. */
const EXPIRE = `
  UPDATE approval AS a SET state = 'expired'
   WHERE (a.account_id, a.id) IN (
     SELECT account_id, id FROM approval AS b WHERE b.state = 'pending' AND b.expires_at <= now()
      LIMIT ${BATCH} FOR UPDATE SKIP LOCKED) AND a.state = 'pending'
  RETURNING a.account_id, a.id`;
const WITHDRAW = `
  UPDATE approval AS a SET state = 'withdrawn', settled_at = now(), arguments = ${KEPT_ARGUMENTS}
   WHERE (a.account_id, a.id) IN (
     SELECT a.account_id, a.id FROM approval AS a WHERE a.state = 'pending' AND ${IS_OVER}
      LIMIT ${BATCH} FOR UPDATE SKIP LOCKED) AND a.state = 'pending'
  RETURNING a.account_id, a.id`;
const SETTLE = `
  UPDATE approval AS a SET settled_at = now(), arguments = ${KEPT_ARGUMENTS}
   WHERE (a.account_id, a.id) IN (
     SELECT a.account_id, a.id FROM approval AS a WHERE a.state <> 'pending' AND a.settled_at IS NULL AND ${IS_OVER}
      LIMIT ${BATCH} FOR UPDATE SKIP LOCKED)
  RETURNING a.account_id, a.id`;

interface ChangedApproval {
  readonly account_id: string;
  readonly id: string;
}

export interface ClosedApprovals {
  readonly expired: readonly ChangedApproval[];
  readonly withdrawn: readonly ChangedApproval[];
  readonly settled: number;
}

export async function closeApprovals(database: Database): Promise<ClosedApprovals> {
  const run = (text: string) => database.acrossAccounts<ChangedApproval>({ text, values: [] });
  const expired = await run(EXPIRE);
  const withdrawn = await run(WITHDRAW);
  return { expired, withdrawn, settled: (await run(SETTLE)).length };
}

const FORGET = `
  WITH gone AS (
    DELETE FROM approval AS a WHERE (a.account_id, a.id) IN (
      SELECT a.account_id, a.id FROM approval AS a
       WHERE a.account_id = $1 AND a.asked_at < $2::timestamptz AND a.state <> 'pending'
         AND NOT EXISTS (SELECT FROM run_facts AS run WHERE run.account_id = a.account_id AND run.id = a.run_id) LIMIT ${BATCH})
    RETURNING 1)
  SELECT count(*)::int AS count FROM gone`;

/** Deletes some questions of before this day (YYYY-MM-DD) whose run is gone. That somebody decided stays on record. */
export async function forgetApprovals(system: Transaction, accountId: string, before: string): Promise<number> {
  return (await system.query<{ count: number }>({ text: FORGET, values: [accountId, before] }))[0]?.count ?? 0;
}

/** An approval as grants know it: it belongs to its run and that run’s agent. */
export const APPROVAL_RESOURCE = `
  SELECT p.id, NULL::text AS name, NULL::jsonb AS labels,
         json_build_array(json_build_object('kind', 'run', 'id', p.run_id, 'name', NULL, 'labels', NULL), json_build_object('kind', 'agent', 'id', o.id, 'name', o.handle, 'labels', o.labels)) AS parents
    FROM approval AS p JOIN agent_owner AS o ON o.account_id = p.account_id AND o.id = p.agent_id
   WHERE p.account_id = $1 AND p.id = $2`;
