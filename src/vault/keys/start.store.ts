import type pg from 'pg';
import type { KeyRing } from '../../platform/crypto/key-ring.ts';
import { countText } from '../../platform/crypto/sealed-tables.ts';
import { ACTIVE, LOCK_KEYS, REGISTER, SEALED_TABLES } from './keys.store.ts';

/** The keys that seal something, and the one in use. */
const NEEDED = `SELECT key_id AS id FROM (${countText(SEALED_TABLES)}) AS counted UNION (${ACTIVE})`;

/**
 * For the start, before there is an application: `open` reads the ring, knowing which keys are needed, and the installation knows
 * the ring's keys when this resolves. One process at a time. What `open` throws is thrown, and nothing is known then.
 */
export async function holdKeys(client: pg.Client, open: (needed: readonly string[]) => KeyRing): Promise<KeyRing> {
  await client.query('BEGIN');
  try {
    await client.query(LOCK_KEYS);
    const { rows } = await client.query<{ id: string }>(NEEDED);
    const ring = open(rows.map(({ id }) => id).sort());
    await client.query(REGISTER, [ring.ids, ring.wanted]);
    await client.query('COMMIT');
    return ring;
  } catch (error) {
    await client.query('ROLLBACK').catch(() => {});
    throw error;
  }
}
