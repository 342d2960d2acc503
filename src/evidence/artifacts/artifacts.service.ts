import { Inject, Injectable } from '@nestjs/common';
import { FileAnswer } from '../../platform/http/file-answer.ts';
import type { In, OpContext, Out } from '../../platform/operation/operation.ts';
import { ContentWithheld, RunLifecycle, type RunRow } from '../../runs/index.ts';
import type { RunPlace } from '../events/log.store.ts';
import { dayOf } from '../events/view.policy.ts';
import type { downloadArtifact, getArtifact, listArtifacts } from './artifacts.contract.ts';
import { ArtifactNotFound } from './artifacts.faults.ts';
import { downloadOf } from './download.policy.ts';
import { toArtifactSummary } from './view.policy.ts';
import { artifactRows, findArtifact, type WholeArtifact } from './artifacts.store.ts';

/** Texts that a run left. */
@Injectable()
export class Artifacts {
  constructor(@Inject(RunLifecycle) private readonly runs: RunLifecycle) {}

  async list(ctx: OpContext, { run_id: runId }: In<typeof listArtifacts>): Promise<Out<typeof listArtifacts>> {
    const rows = await artifactRows(ctx, placeOf(ctx, await this.runs.find(ctx, runId)));
    return rows.map((row) => toArtifactSummary(runId, row));
  }

  async get(
    ctx: OpContext,
    { run_id: runId, artifact_id: artifactId }: In<typeof getArtifact>,
  ): Promise<Out<typeof getArtifact>> {
    const row = await this.find(ctx, runId, artifactId);
    return { ...toArtifactSummary(runId, row), content: row.content };
  }

  async download(
    ctx: OpContext,
    { run_id: runId, artifact_id: artifactId }: In<typeof downloadArtifact>,
  ): Promise<FileAnswer> {
    const { name, mime_type: mimeType, content } = await this.find(ctx, runId, artifactId);
    const { bytes, contentType } = downloadOf(mimeType, content);
    return new FileAnswer(bytes, name, contentType);
  }

  private async find(ctx: OpContext, runId: string, artifactId: string): Promise<WholeArtifact> {
    const run = await this.runs.find(ctx, runId);
    const row = await findArtifact(ctx, placeOf(ctx, run), artifactId);
    if (!row) throw ArtifactNotFound();
    if (run.is_withheld) throw ContentWithheld();
    return row;
  }
}

function placeOf({ actor }: OpContext, { id: runId, created_at: at }: RunRow): RunPlace {
  return { accountId: actor.accountId, runId, day: dayOf(at) };
}
