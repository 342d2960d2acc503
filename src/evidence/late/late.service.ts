import { Injectable } from '@nestjs/common';
import { cursorOf, placeOf } from '../../platform/operation/cursor.ts';
import type { In, OpContext, Out } from '../../platform/operation/operation.ts';
import { RunNotFound } from '../../runs/index.ts';
import type { listLate } from './late.contract.ts';
import { toLateEvidence } from './late.policy.ts';
import { dayOfRun, readLate } from './late.store.ts';

/** What workers said about a run that was not theirs, or not any more. */
@Injectable()
export class LateRecords {
  async list(ctx: OpContext, query: In<typeof listLate>): Promise<Out<typeof listLate>> {
    const { run_id: runId, cursor, limit } = query;
    const after = placeOf(cursor);
    const day = await dayOfRun(ctx, runId);
    if (day === undefined) throw RunNotFound();
    const { rows, isCut } = await readLate(ctx, { runId, day, after, limit });
    const last = rows.at(-1);
    if (last && isCut) ctx.header('x-next-cursor', cursorOf(last));
    return rows.map(toLateEvidence);
  }
}
