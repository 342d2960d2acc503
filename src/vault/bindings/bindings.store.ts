import type { OpContext } from '../../platform/operation/operation.ts';
import { SHOWN, WITH_VALUE, type CredentialRow } from '../credentials/credentials.store.ts';

export interface BindingRow {
  /** As the caller wrote it. */
  readonly agent_ref: string;
  readonly on_demand: boolean;
  readonly created_at: Date;
  readonly is_resolved: boolean;
}

const IS_AGENT = (ref: string): string =>
  `EXISTS (SELECT FROM agent_directory d WHERE d.account_id = $1 AND (d.id = ${ref} OR d.handle = ${ref}))`;
const LIST = `
  SELECT agent_ref, on_demand, created_at, ${IS_AGENT('agent_ref')} AS is_resolved
    FROM credential_binding WHERE account_id = $1 AND credential_id = $2 ORDER BY created_at, agent_ref`;

export function listBindingRows(ctx: OpContext, credentialId: string): Promise<BindingRow[]> {
  return ctx.sql<BindingRow>(LIST, [ctx.actor.accountId, credentialId]);
}

/** The credential stays until the end of the transaction: no binding is left over from one that was deleted meanwhile. */
const SET = `
  WITH bound AS (SELECT id FROM credential WHERE account_id = $1 AND id = $2 FOR KEY SHARE)
  INSERT INTO credential_binding (account_id, credential_id, agent_ref, on_demand, created_by)
  SELECT $1, id, $3, $4, $5 FROM bound
  ON CONFLICT (account_id, credential_id, agent_ref) DO UPDATE SET on_demand = excluded.on_demand
  RETURNING agent_ref, on_demand, created_at, ${IS_AGENT('$3')} AS is_resolved`;

/** Undefined: no such credential. */
export async function setBinding(
  ctx: OpContext,
  credentialId: string,
  agentRef: string,
  onDemand: boolean,
): Promise<BindingRow | undefined> {
  const values = [ctx.actor.accountId, credentialId, agentRef, onDemand, ctx.actor.id];
  return (await ctx.sql<BindingRow>(SET, values))[0];
}

/** The names of one agent: both, where it exists. */
const NAMES = (ref: string): string => `
  SELECT ${ref}::text UNION
  SELECT unnest(ARRAY[named.id, named.handle]) FROM (
    SELECT id, handle FROM agent_directory WHERE account_id = $1 AND (id = ${ref} OR handle = ${ref}) ORDER BY (id = ${ref}) DESC LIMIT 1) AS named`;
const REMOVE = `
  DELETE FROM credential_binding WHERE account_id = $1 AND credential_id = $2 AND agent_ref IN (${NAMES('$3')}) RETURNING agent_ref`;

/** Takes a credential from an agent, under whichever of its names it was bound; returns these. */
export async function removeBinding(ctx: OpContext, credentialId: string, agentRef: string): Promise<string[]> {
  const rows = await ctx.sql<{ agent_ref: string }>(REMOVE, [ctx.actor.accountId, credentialId, agentRef]);
  return rows.map(({ agent_ref }) => agent_ref);
}

const OF_AGENT = `
  SELECT ${SHOWN} FROM ${WITH_VALUE}
   WHERE c.account_id = $1 AND c.id IN (
     SELECT credential_id FROM credential_binding WHERE account_id = $1 AND agent_ref IN (${NAMES('$2')}))
   ORDER BY c.created_at, c.id`;

export function listCredentialRowsOf(ctx: OpContext, agentRef: string): Promise<CredentialRow[]> {
  return ctx.sql<CredentialRow>(OF_AGENT, [ctx.actor.accountId, agentRef]);
}

export async function isAgent(ctx: OpContext, agentRef: string): Promise<boolean> {
  const rows = await ctx.sql<{ is: boolean }>(`SELECT ${IS_AGENT('$2')} AS is`, [ctx.actor.accountId, agentRef]);
  return rows[0]?.is === true;
}
