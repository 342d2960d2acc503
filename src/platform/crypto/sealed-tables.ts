/**
 * Where a room keeps sealed values: enough to find those under other keys, open each for its row, and seal it again in its
 * place. The owner of the table declares it beside the text that binds; the room vault seals again.
 */
export interface SealedTable {
  readonly table: string;
  /** The columns of its primary key, with their types. */
  readonly key: readonly (readonly [column: string, type: 'text' | 'int'])[];
  readonly sealed: string;
  readonly keyId: string;
  /** SQL for the text that binds a value to its row. */
  readonly binding: string;
}

/** `$1` the key that seals, `$2` bindings of values that did not open, `$3` how many. */
export function pickText({ table, key, sealed, keyId, binding }: SealedTable): string {
  const columns = key.map(([column]) => column);
  return `
  SELECT ${columns.map((column) => `${column}::text AS ${column}`).join(', ')}, ${sealed} AS sealed, ${keyId} AS key_id, ${binding} AS binding
    FROM ${table} WHERE ${keyId} <> $1 AND ${sealed} IS NOT NULL AND ${binding} <> ALL ($2::text[])
   ORDER BY ${columns.map((column) => `${table}.${column}`).join(', ')} LIMIT $3 FOR UPDATE SKIP LOCKED`;
}

/** `$1` the key that sealed them again, `$2` the values, then each column of the key, as lists. */
export function replaceText({ table, key, sealed, keyId }: SealedTable): string {
  const columns = key.map(([column]) => column);
  const lists = key.map(([, type], at) => `$${at + 3}::${type}[]`);
  return `
  UPDATE ${table} AS kept SET ${sealed} = again.sealed, ${keyId} = $1
    FROM unnest($2::bytea[], ${lists.join(', ')}) AS again (sealed, ${columns.join(', ')})
   WHERE (${columns.map((column) => `kept.${column}`).join(', ')}) = (${columns.map((column) => `again.${column}`).join(', ')})`;
}

/** How many values each key seals, over all of `tables`. */
export function countText(tables: readonly SealedTable[]): string {
  const counts = tables.map(
    ({ table, sealed, keyId }) =>
      `SELECT ${keyId} AS key_id, count(*) AS amount FROM ${table} WHERE ${sealed} IS NOT NULL GROUP BY ${keyId}`,
  );
  return `SELECT key_id, sum(amount)::int AS amount FROM (${counts.join(' UNION ALL ')}) AS counted GROUP BY key_id`;
}
