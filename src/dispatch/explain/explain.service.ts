import { Inject, Injectable } from '@nestjs/common';
import { CONFIG, type Config } from '../../platform/config/config.ts';
import type { In, OpContext, Out } from '../../platform/operation/operation.ts';
import { RunNotFound, readMoves } from '../../runs/index.ts';
import { Presence } from '../../workers/index.ts';
import type { explainRun } from './explain.contract.ts';
import { explanationOf } from './explain.policy.ts';
import { readCrew, readStanding } from './explain.store.ts';

/** Why a run is not running, or ended as it did: read off the rows at the moment of asking, nothing is kept for it. */
@Injectable()
export class Explain {
  constructor(
    @Inject(CONFIG) private readonly config: Config,
    @Inject(Presence) private readonly presence: Presence,
  ) {}

  async run(ctx: OpContext, { run_id: runId }: In<typeof explainRun>): Promise<Out<typeof explainRun>> {
    await this.presence.flush();
    const standing = await readStanding(ctx, runId);
    if (!standing) throw RunNotFound();
    const moves = await readMoves(ctx, runId);
    const crew = standing.status === 'queued' ? await readCrew(ctx, standing, this.config) : [];
    return explanationOf({ standing, moves, crew }, this.config);
  }
}
