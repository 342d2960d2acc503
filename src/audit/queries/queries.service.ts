import { Injectable } from '@nestjs/common';
import { wireTime } from '../../platform/clock/clock.ts';
import { invalid } from '../../platform/faults/faults.ts';
import { cursorOf, placeOf, type Place } from '../../platform/operation/cursor.ts';
import type { In, OpContext, Out } from '../../platform/operation/operation.ts';
import type { listAudit } from './queries.contract.ts';
import { countEntries, listEntries, type EntryRow } from './queries.store.ts';

type Listing = In<typeof listAudit>;

/** More are not counted. */
const COUNTED_MAX = 10_000;

/** Reads the audit trail of the caller's account. */
@Injectable()
export class AuditQueries {
  async list(ctx: OpContext, input: Listing): Promise<Out<typeof listAudit>> {
    const { limit, offset, sort, order } = input;
    const after = positionOf(input);
    const filter = {
      ...input,
      isDone: input.status ? input.status === 'success' : undefined,
      actorId: input.actor_principal_id,
      targetId: input.target,
      requestId: input.request_id,
    };
    const found = await listEntries(ctx, filter, { sort, order, limit, offset, after });
    const rows = found.slice(0, limit);
    const last = rows.at(-1);
    if (last && found.length > limit && sort === 'when') ctx.header('X-Next-Cursor', cursorOf(last));
    if (input.count) {
      const count = await countEntries(ctx, filter, COUNTED_MAX + 1);
      ctx.header('X-Total-Count', count > COUNTED_MAX ? `${COUNTED_MAX}+` : String(count));
    }
    ctx.note({ rows: rows.length, ...asked(input) });
    return rows.map(viewOf);
  }
}

/** What was looked for belongs on the record of the look. */
function asked({ category, status, q, actor_principal_id, target, from, to, request_id }: Listing): object {
  const filters = Object.entries({ category, status, q, actor_principal_id, target, from, to, request_id });
  return Object.fromEntries(filters.filter(([, value]) => value !== undefined && value !== null));
}

function viewOf(row: EntryRow): Out<typeof listAudit>[number] {
  const { outcome, address } = row;
  const target = row.targetKind === '' ? null : { kind: row.targetKind, id: row.targetId };
  return {
    id: row.id,
    created_at: wireTime(row.at),
    category: row.category,
    action: row.action,
    operation: row.operation === '' ? null : row.operation,
    status: outcome === 'done' ? 'success' : 'failure',
    actor_type: row.actorKind,
    actor_principal_id: row.actorId,
    impersonator_principal_id: row.impersonatorId,
    detail: {
      ...row.detail,
      outcome,
      target,
      request_id: row.requestId === '' ? null : row.requestId,
      address,
      acting_for: row.impersonatorId === null ? null : row.actorId,
    },
  };
}

function positionOf({ cursor, sort }: Listing): Place | undefined {
  const place = placeOf(cursor);
  if (place && sort !== 'when') throw invalid(['query', 'cursor'], 'only the order by time has a cursor');
  return place;
}
