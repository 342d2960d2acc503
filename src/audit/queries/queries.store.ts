import type { Place } from '../../platform/operation/cursor.ts';
import type { OpContext } from '../../platform/operation/operation.ts';
import type { Outcome } from '../../platform/operation/ports.ts';

export interface EntryRow {
  readonly id: string;
  readonly at: Date;
  /** Microseconds since 1970: exactly where a page ended. */
  readonly micros: string;
  readonly category: string;
  readonly action: string;
  readonly operation: string;
  readonly outcome: Outcome;
  readonly actorKind: string;
  readonly actorId: string | null;
  readonly impersonatorId: string | null;
  readonly targetKind: string;
  readonly targetId: string;
  readonly requestId: string;
  readonly address: string | null;
  readonly detail: Readonly<Record<string, unknown>>;
}

/** Undefined and null: everything. */
export interface EntryFilter {
  readonly category?: string | null | undefined;
  readonly isDone: boolean | undefined;
  readonly q?: string | null | undefined;
  readonly actorId: string | null | undefined;
  readonly targetId: string | null | undefined;
  readonly from?: Date | null | undefined;
  readonly to?: Date | null | undefined;
  readonly requestId?: string | null | undefined;
}

export interface Page {
  readonly sort: SortKey;
  readonly order: 'asc' | 'desc';
  readonly limit: number;
  readonly offset: number;
  readonly after: Place | undefined;
}

export type SortKey = keyof typeof SORTED_BY;

const SORTED_BY = {
  when: 'at',
  action: 'action',
  actor: 'actor_id',
  type: 'actor_kind',
  status: `(outcome = 'done')`,
} as const;

/** What each filter asks; `?` is its value. Text is compared as it is: it has no wildcards. */
const CONDITIONS: Readonly<Record<keyof EntryFilter, string>> = {
  category: 'category = ?',
  isDone: `(outcome = 'done') = ?`,
  q: `strpos(lower(concat_ws(' ', action, operation, actor_kind, actor_id)), lower(?)) > 0`,
  actorId: 'actor_id = ?',
  targetId: 'target_id = ?',
  from: 'at >= ?',
  to: 'at < ?',
  requestId: 'request_id = ?',
};

/** A condition on the rows of an account, and its values. A filter that is not asked for is not in it, so an index can serve the others. */
export interface Where {
  readonly text: string;
  readonly values: readonly unknown[];
}

/** Which rows of `audit_entry` an account means by a filter. */
export function whereOf(accountId: string, filter: EntryFilter): Where {
  const asked = (Object.keys(CONDITIONS) as (keyof EntryFilter)[]).filter((name) => (filter[name] ?? null) !== null);
  const conditions = asked.map((name, index) => CONDITIONS[name].replace('?', `$${index + 2}`));
  return {
    text: ['account_id = $1', ...conditions].join(' AND '),
    values: [accountId, ...asked.map((name) => filter[name])],
  };
}

const MICROS = '(extract(epoch FROM at) * 1000000)::bigint::text';
const COLUMNS = `id, at, ${MICROS} AS micros, category, action, operation, outcome, actor_kind AS "actorKind", actor_id AS "actorId",
  impersonator_id AS "impersonatorId", target_kind AS "targetKind", target_id AS "targetId", request_id AS "requestId", address, detail`;

/** Past an offset go ids and times only: the rows themselves are read for the page. */
function listText({ text, values }: Where, { sort, order, after }: Page): string {
  const next = values.length + 1;
  const place = `(timestamptz 'epoch' + $${next}::bigint * interval '1 microsecond', $${next + 1}::text)`;
  const beyond = after ? ` AND (at, id) ${order === 'asc' ? '>' : '<'} ${place}` : '';
  const rest = sort === 'when' ? `at ${order}, id ${order}` : `sorted ${order} NULLS LAST, at DESC, id DESC`;
  const [limit, offset] = after ? [next + 2, next + 3] : [next, next + 1];
  return `
    SELECT ${COLUMNS} FROM (
      SELECT account_id, id, at, ${SORTED_BY[sort]} AS sorted FROM audit_entry WHERE ${text}${beyond}
       ORDER BY ${rest} LIMIT $${limit} OFFSET $${offset}) AS page
      JOIN audit_entry USING (account_id, id, at)
     ORDER BY ${rest}`;
}

/** The account's entries; one more than the page holds, where there is one. */
export function listEntries(ctx: OpContext, filter: EntryFilter, page: Page): Promise<EntryRow[]> {
  const where = whereOf(ctx.actor.accountId, filter);
  const { limit, offset, after } = page;
  const place = after ? [after.micros, after.id] : [];
  return ctx.sql<EntryRow>(listText(where, page), [...where.values, ...place, limit + 1, offset]);
}

/** How many there are, up to `most`. */
export async function countEntries(ctx: OpContext, filter: EntryFilter, most: number): Promise<number> {
  const { text, values } = whereOf(ctx.actor.accountId, filter);
  const count = `SELECT count(*)::int AS count FROM (SELECT FROM audit_entry WHERE ${text} LIMIT $${values.length + 1}) AS found`;
  const [row] = await ctx.sql<{ count: number }>(count, [...values, most]);
  return row?.count ?? 0;
}
