import { wireTime } from '../../platform/clock/clock.ts';
import type { Out } from '../../platform/operation/operation.ts';
import type { getCredential } from './credentials.contract.ts';
import type { CredentialRow } from './credentials.store.ts';

/** What callers see of a credential: its value is not in the row. */
export function credentialView(row: CredentialRow): Out<typeof getCredential> {
  const { id, name, status, description, owner, labels, active_version, keys, sealed_key_id, bound_agents } = row;
  return {
    ...{ id, name, status, description, owner, labels, active_version, bound_agents },
    created_at: wireTime(row.created_at),
    updated_at: wireTime(row.updated_at),
    last_replaced_at: row.last_replaced_at && wireTime(row.last_replaced_at),
    last_used_at: row.last_used_at && wireTime(row.last_used_at),
    key_id: sealed_key_id,
    ...(keys.length > 0 ? { keys } : {}),
  };
}
