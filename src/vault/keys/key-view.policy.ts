import { wireTime } from '../../platform/clock/clock.ts';
import type { KeySource } from '../../platform/crypto/key-ring.ts';
import type { Out } from '../../platform/operation/operation.ts';
import type { listVaultKeys, rotateVaultKey } from './keys.contract.ts';
import type { KeyRow, RotationRow } from './keys.store.ts';

/** Nothing needs a key any more once it was in use, seals no value, and no run needs it. */
export function keyView(
  { id, created_at, activated_at, amount, is_awaited }: KeyRow,
  active: string,
  source: KeySource,
): Out<typeof listVaultKeys>[number] {
  const isNeeded = amount > 0 || is_awaited || activated_at === null;
  const state = id === active ? 'active' : isNeeded ? 'decrypt_only' : 'retired';
  return { key_id: id, state, created_at: wireTime(created_at), values: amount, source };
}

export function rotationView(row: RotationRow): Out<typeof rotateVaultKey> {
  const { id, state, from_key, to_key, total, done, started_at, finished_at, error } = row;
  return {
    ...{ rotation_id: id, state, from_key, to_key, total, error },
    done: Math.min(done, total), // values that were sealed meanwhile count too
    started_at: wireTime(started_at),
    finished_at: finished_at && wireTime(finished_at),
  };
}
