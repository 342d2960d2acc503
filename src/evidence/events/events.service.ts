import { Inject, Injectable } from '@nestjs/common';
import type { In, OpContext, Out } from '../../platform/operation/operation.ts';
import { RunLifecycle } from '../../runs/index.ts';
import { columnType } from './batch.policy.ts';
import type { listEvents } from './events.contract.ts';
import { NUMBERS_A_LOOK, readEvents } from './log.store.ts';
import { dayOf, toEventView } from './view.policy.ts';

/** What was recorded of a run. */
@Injectable()
export class RunEvents {
  constructor(@Inject(RunLifecycle) private readonly runs: RunLifecycle) {}

  async list(ctx: OpContext, query: In<typeof listEvents>): Promise<Out<typeof listEvents>> {
    const { run_id: runId, after, cursor, limit, type, level, span_id: spanId, q } = query;
    const run = await this.runs.find(ctx, runId);
    const place = { accountId: ctx.actor.accountId, runId, day: dayOf(run.created_at) };
    const from = cursor === undefined ? after : Number(cursor);
    const { rows, isCut } = await readEvents(
      ctx,
      place,
      { after: from, limit },
      {
        types: type?.map(columnType) ?? null,
        level: level ?? null,
        spanId: spanId ?? null,
        text: q === undefined ? null : JSON.stringify(q).slice(1, -1),
      },
    );
    const lookedAt = from + NUMBERS_A_LOOK;
    const last = rows.at(-1);
    if (last && isCut) ctx.header('x-next-cursor', String(last.seq));
    else if (run.last_seq > lookedAt) ctx.header('x-next-cursor', String(lookedAt));
    return rows.map(toEventView);
  }
}
