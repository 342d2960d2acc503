import { Inject, Injectable } from '@nestjs/common';
import { wireTime } from '../../platform/clock/clock.ts';
import type { In, OpContext, Out } from '../../platform/operation/operation.ts';
import { RunLifecycle } from '../../runs/index.ts';
import type { RunPlace } from '../events/log.store.ts';
import { dayOf } from '../events/view.policy.ts';
import { ArtifactNotFound, type getArtifact, type listArtifacts } from './artifacts.contract.ts';
import { artifactRows, findArtifact, type ArtifactRow } from './artifacts.store.ts';

/** Texts that a run left. */
@Injectable()
export class Artifacts {
  constructor(@Inject(RunLifecycle) private readonly runs: RunLifecycle) {}

  async list(ctx: OpContext, { run_id: runId }: In<typeof listArtifacts>): Promise<Out<typeof listArtifacts>> {
    const rows = await artifactRows(ctx, await this.placeOf(ctx, runId));
    return rows.map((row) => toSummary(runId, row));
  }

  async get(
    ctx: OpContext,
    { run_id: runId, artifact_id: artifactId }: In<typeof getArtifact>,
  ): Promise<Out<typeof getArtifact>> {
    const row = await findArtifact(ctx, await this.placeOf(ctx, runId), artifactId);
    if (!row) throw ArtifactNotFound();
    return { ...toSummary(runId, row), content: row.content };
  }

  private async placeOf(ctx: OpContext, runId: string): Promise<RunPlace> {
    const run = await this.runs.find(ctx, runId);
    return { accountId: ctx.actor.accountId, runId, day: dayOf(run.created_at) };
  }
}

function toSummary(runId: string, { id, name, mime_type, bytes, is_cut, created_at }: ArtifactRow) {
  return { artifact_id: id, run_id: runId, name, mime_type, created_at: wireTime(created_at), bytes, is_cut };
}
