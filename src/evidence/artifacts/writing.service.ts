import { Inject, Injectable } from '@nestjs/common';
import { Bus } from '../../platform/bus/bus.ts';
import { accountKey } from '../../platform/bus/keys.ts';
import { CONFIG, type Config } from '../../platform/config/config.ts';
import { derivedId, newId } from '../../platform/ids/ids.ts';
import { alteredUnder } from '../../platform/json/json.ts';
import type { In, OpContext, Out } from '../../platform/operation/operation.ts';
import {
  RunNotFound,
  RunStaleAttempt,
  RunTerminal,
  countMasked,
  factsOfHolder,
  whyLate,
  type Lateness,
} from '../../runs/index.ts';
import { Masks, type Masking } from '../../vault/index.ts';
import { Presence } from '../../workers/index.ts';
import { ArtifactNotFound, ArtifactNotWritable, ArtifactTooLarge } from './artifacts.faults.ts';
import { findArtifact, type ArtifactRow } from './artifacts.store.ts';
import { toArtifactSummary } from './view.policy.ts';
import type { createArtifact, updateArtifact, writeArtifact } from './writing.contract.ts';
import {
  addArtifact,
  keepLateArtifact,
  overwriteArtifact,
  type Writer,
  type WrittenArtifact,
} from './writing.store.ts';

type Sent = Pick<In<typeof createArtifact>, 'name' | 'content' | 'mime_type'>;
/** Between two looks the run may have changed hands; more often than this in a row it does not. */
const LOOKS = 3;

/** What became of an artifact: it was stored, or it came too late and was kept beside the record. */
type Outcome = Stored | { readonly late: Lateness };
interface Stored {
  readonly row: ArtifactRow;
  /** As it was stored: masked. */
  readonly content: string;
}

/**
 * Takes the artifacts that workers write. Only who holds the run adds to it; what comes later is kept as late evidence, and the
 * sender is told.
 */
@Injectable()
export class ArtifactWriting {
  constructor(
    @Inject(Presence) private readonly presence: Presence,
    @Inject(Masks) private readonly masks: Masks,
    @Inject(Bus) private readonly bus: Bus,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  async create(ctx: OpContext, input: In<typeof createArtifact>): Promise<Out<typeof createArtifact>> {
    const { run_id: runId } = input;
    const artifact = this.ready(ctx, newId('artifact', ctx.now.getTime()), input);
    const { row, content } = await this.store(ctx, this.writerOfToken(ctx, runId), artifact, false);
    return { ...toArtifactSummary(runId, row), content };
  }

  async update(ctx: OpContext, input: In<typeof updateArtifact>): Promise<Out<typeof updateArtifact>> {
    const { run_id: runId, artifact_id: id } = input;
    const artifact = this.ready(ctx, id, input);
    const { row, content } = await this.store(ctx, this.writerOfToken(ctx, runId), artifact, true);
    return { ...toArtifactSummary(runId, row), content };
  }

  /** The same frame again is the same artifact. */
  async write(ctx: OpContext, input: In<typeof writeArtifact>): Promise<Out<typeof writeArtifact>> {
    const { run_id: runId, worker_id: workerId, artifact_id: known, attempt = null } = input;
    this.presence.heard(ctx.actor, workerId, 'events');
    const id = known ?? derivedId('artifact', `${workerId}\n${frameIdOf(ctx)}`);
    const writer = { runId, agentId: ctx.actor.id, workerId, attempt };
    const { row } = await this.store(ctx, writer, this.ready(ctx, id, input), typeof known === 'string');
    return { artifact_id: row.id };
  }

  private writerOfToken(ctx: OpContext, runId: string): Writer {
    return { runId, agentId: ctx.actor.id, workerId: null, attempt: null };
  }

  /** @throws Fault 413 `artifact.too_large`, which names the limit. */
  private ready(ctx: OpContext, id: string, { name, content, mime_type: mimeType }: Sent): WrittenArtifact {
    const bytes = Buffer.byteLength(content);
    const { artifactLimitBytes: limit } = this.config;
    if (bytes > limit)
      throw ArtifactTooLarge({ message: `The content has ${bytes} bytes, and an artifact at most ${limit}` });
    return { id, name, mimeType, content, bytes, altered: alteredUnder(ctx.altered, []) };
  }

  private async store(ctx: OpContext, writer: Writer, artifact: WrittenArtifact, isKnown: boolean): Promise<Stored> {
    const outcome = await ctx.briefly(async (inner) => {
      const masking = await this.masks.of(inner, { ...writer, workerId: writer.workerId ?? '' });
      const done = await this.storeOrKeep(inner, writer, masked(artifact, masking), isKnown);
      await countMasked(inner, writer.runId, masking.total);
      return done;
    });
    if ('row' in outcome) return outcome;
    throw outcome.late.why === 'after_end' ? RunTerminal() : RunStaleAttempt();
  }

  private async storeOrKeep(
    ctx: OpContext,
    writer: Writer,
    artifact: WrittenArtifact,
    isKnown: boolean,
  ): Promise<Outcome> {
    const { runId } = writer;
    for (let look = 0; look < LOOKS; look += 1) {
      const written = await (isKnown ? overwriteArtifact : addArtifact)(ctx, writer, artifact);
      if (written && written.id !== null) {
        ctx.afterCommit(() => this.bus.poke('run.grew', accountKey(ctx.actor.accountId, runId)));
        return { row: written, content: artifact.content };
      }
      if (written) return this.existing(ctx, runId, written.day, artifact.id, isKnown);
      const late = await this.keepLate(ctx, writer, artifact);
      if (late) return { late };
    }
    throw new Error('the run changes hands all the time');
  }

  /** Of a frame that came again, what the first one stored. */
  private async existing(
    ctx: OpContext,
    runId: string,
    day: string,
    id: string,
    isOverwrite: boolean,
  ): Promise<Stored> {
    const row = await findArtifact(ctx, { accountId: ctx.actor.accountId, runId, day }, id);
    if (!row) throw ArtifactNotFound();
    if (isOverwrite) throw ArtifactNotWritable();
    return { row, content: row.content };
  }

  /** Undefined when the writer does hold the run by now. */
  private async keepLate(ctx: OpContext, writer: Writer, artifact: WrittenArtifact): Promise<Lateness | undefined> {
    const { runId, agentId, workerId, attempt } = writer;
    const run = await factsOfHolder(ctx, { runId, workerId: workerId ?? '' });
    if (run?.agent_id !== agentId) throw RunNotFound();
    // Whoever names no worker speaks for the last one.
    const late = whyLate(run, workerId ?? run.worker_id ?? '', attempt);
    if (!late) return undefined;
    const { id, name, mimeType, content } = artifact;
    const said = run.is_withheld ? {} : { content };
    const kept = JSON.stringify({ artifact_id: id, name, mime_type: mimeType, ...said });
    const lateId = ctx.frame
      ? derivedId('late', `${workerId ?? ''}\n${ctx.frame.id}`)
      : newId('late', ctx.now.getTime());
    await keepLateArtifact(ctx, writer, { ...late, id: lateId, day: run.day, content: kept });
    return late;
  }
}

function masked(artifact: WrittenArtifact, masking: Masking): WrittenArtifact {
  const name = masking.text(artifact.name, 'name');
  const mimeType = masking.text(artifact.mimeType, 'mime_type');
  const content = masking.text(artifact.content, 'content');
  return { ...artifact, name, mimeType, content, bytes: Buffer.byteLength(content) };
}

function frameIdOf({ frame, requestId }: OpContext): string {
  return frame?.id ?? requestId;
}
