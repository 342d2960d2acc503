import { Inject, Injectable } from '@nestjs/common';
import { AgentRegistry } from '../../agents/index.ts';
import { CONFIG, type Config } from '../../platform/config/config.ts';
import { invalid } from '../../platform/faults/faults.ts';
import { isJsonObject } from '../../platform/json/json.ts';
import { assertFlat } from '../../platform/operation/depth.ts';
import type { In, OpContext, Out } from '../../platform/operation/operation.ts';
import { RunLifecycle, RunNotFound, isTerminal, toSummary, type RunRow } from '../../runs/index.ts';
import { Masks } from '../../vault/index.ts';
import { Presence } from '../../workers/index.ts';
import { dayOf } from '../events/view.policy.ts';
import { callOf, inputText, isWhole, keptApart } from './calls.policy.ts';
import type { getRecording, replayRun, requestReplay } from './replay.contract.ts';
import { RunNotReplayable } from './replay.faults.ts';
import { callsAfter, countCalls, keptWhole, lockUsed, useCall, type CallRow, type Recording } from './replay.store.ts';

type Answer = Out<typeof requestReplay>;

/** The SDK refuses the tool then, and its agent sees that there is no recording. */
const NO_DATA: Answer = { source: 'no_data' };
/** Events may hold a quarter of a megabyte each: so many calls are in memory at a time. */
const CALLS_A_LOOK = 50;
/** An answer grows no further; the next page begins where it stopped. */
const PAGE_BYTES = 8 * 1024 * 1024;

/** Runs again on what was recorded: a tool is answered as it was answered then, and nothing is done for real. */
@Injectable()
export class Replays {
  constructor(
    @Inject(RunLifecycle) private readonly runs: RunLifecycle,
    @Inject(AgentRegistry) private readonly agents: AgentRegistry,
    @Inject(Masks) private readonly masks: Masks,
    @Inject(Presence) private readonly presence: Presence,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  async recording(ctx: OpContext, query: In<typeof getRecording>): Promise<Out<typeof getRecording>> {
    const { run_id: runId, limit, cursor = '0' } = query;
    const recording = recordingOf(ctx, await this.runs.find(ctx, runId));
    const first = Number(cursor);
    const rows = await pageOf(ctx, recording, first, limit);
    const last = rows.at(-1);
    if (last && (await callsAfter(ctx, recording, { after: last.first_seq, limit: 1 })).length > 0)
      ctx.header('x-next-cursor', String(last.first_seq));
    const before = first === 0 ? 0 : await countCalls(ctx, recording, first + 1);
    return rows.map((row, index) => toView(row, before + index));
  }

  /** @throws Fault 409 `run.not_replayable`; 422 for another agent, and for real calls, which only a gateway could make. */
  async replay(ctx: OpContext, input: In<typeof replayRun>): Promise<Out<typeof replayRun>> {
    const { run_id: runId, mode = 'strict', clock } = input;
    const golden = await this.runs.find(ctx, runId);
    if (mode !== 'strict') throw invalid(['body', 'mode'], 'there is no gateway yet that could make real calls');
    const other = typeof input.agent_id === 'string' ? await this.agents.require(ctx, input.agent_id) : golden.agent_id;
    if (other !== golden.agent_id) throw invalid(['body', 'agent_id'], 'must be the agent of the run');
    await assertReplayable(ctx, golden);
    const order = { golden_run_id: golden.id, mode: 'block', ...(typeof clock === 'string' ? { clock } : {}) };
    const row = await this.runs.order(ctx, {
      agentRef: golden.agent_id,
      input: { ...(input.input ?? golden.input), agentops_replay: order },
      channel: 'api',
      transport: 'polling',
      origin: { kind: 'replay', id: golden.id },
      metadata: golden.metadata,
      labels: golden.labels,
      replays: golden.id,
    });
    return toSummary(row);
  }

  /** What the worker may not know of is answered like what is not there. */
  async answer(ctx: OpContext, question: In<typeof requestReplay>): Promise<Answer> {
    const { worker_id: workerId, run_id: runId, golden_run_id: goldenId } = question;
    this.presence.heard(ctx.actor, workerId, 'frame');
    assertFlat(this.config.jsonDepthLimit, { tool_input: question.tool_input });
    const run = await this.runs.find(ctx, runId).catch(noneOf);
    if (run?.agent_id !== ctx.actor.id || run.worker_id !== workerId || isTerminal(run.status)) return NO_DATA;
    if (goldenOf(run) !== goldenId) return NO_DATA;
    const golden = await this.runs.find(ctx, goldenId).catch(noneOf);
    if (golden?.agent_id !== run.agent_id) return NO_DATA;
    return this.match(ctx, run, recordingOf(ctx, golden), question);
  }

  /** The first recorded call with this tool and input that did not answer in this attempt; to the same frame the same one. */
  private async match(
    ctx: OpContext,
    { id: runId, agent_id: agentId, attempt }: RunRow,
    recording: Recording,
    { worker_id: workerId, tool_name: tool, tool_input: input }: In<typeof requestReplay>,
  ): Promise<Answer> {
    const frameId = ctx.frame?.id ?? ctx.requestId;
    const used = await lockUsed(ctx, runId, attempt);
    // A recording holds what may be kept, so a question is compared as it would be kept.
    const masking = await this.masks.of(ctx, { runId, agentId, workerId });
    const wanted = { tool, input: inputText(masking.value(input, 'tool_input')) };
    const known = used.find(({ frame_id }) => frame_id === frameId);
    const found = known
      ? await firstOf(ctx, recording, wanted, { from: known.seq, to: known.seq, taken: new Set() })
      : await firstOf(ctx, recording, wanted, { from: 0, to: Infinity, taken: new Set(used.map(({ seq }) => seq)) });
    if (!found) return NO_DATA;
    if (!known) await useCall(ctx, runId, attempt, { seq: found.seq, frame_id: frameId });
    const index = await countCalls(ctx, recording, found.seq);
    return { source: 'recording', tool_response: found.response, matched_seq: index, match: 'exact' };
  }
}

interface Found {
  readonly seq: number;
  readonly response: unknown;
}

async function firstOf(
  ctx: OpContext,
  recording: Recording,
  { tool, input }: { readonly tool: string; readonly input: string },
  within: { readonly from: number; readonly to: number; readonly taken: ReadonlySet<number> },
): Promise<Found | undefined> {
  for (let after = within.from - 1; ;) {
    const rows = await callsAfter(ctx, recording, { after, limit: CALLS_A_LOOK, tool });
    for (const row of rows) {
      if (row.first_seq > within.to) return undefined;
      if (within.taken.has(row.first_seq)) continue;
      const kept = await keptWhole(ctx, recording.place, keptApart(row));
      const call = callOf(row, kept);
      if (isWhole(row, kept) && inputText(call.input) === input) return { seq: row.first_seq, response: call.response };
    }
    const last = rows.at(-1);
    if (!last || rows.length < CALLS_A_LOOK) return undefined;
    after = last.first_seq;
  }
}

async function pageOf(ctx: OpContext, recording: Recording, first: number, limit: number): Promise<CallRow[]> {
  const rows: CallRow[] = [];
  for (let after = first, bytes = 0; rows.length < limit && bytes < PAGE_BYTES;) {
    const more = await callsAfter(ctx, recording, { after, limit: Math.min(CALLS_A_LOOK, limit - rows.length) });
    rows.push(...more);
    bytes += more.reduce((sum, row) => sum + row.bytes, 0);
    const last = more.at(-1);
    if (!last || more.length < CALLS_A_LOOK) break;
    after = last.first_seq;
  }
  return rows;
}

function toView(row: CallRow, index: number): Out<typeof getRecording>[number] {
  const { input, response, isError } = callOf(row);
  return {
    ...{ index, span_id: row.span_id, tool_name: row.name, tool_input: input, tool_response: response },
    ...{ is_error: isError, masked: row.is_masked },
    truncated: [...(row.start_truncated ?? []), ...(row.end_truncated ?? [])],
  };
}

async function assertReplayable(ctx: OpContext, golden: RunRow): Promise<void> {
  const no = (reason: string) => RunNotReplayable({ message: `The run cannot be replayed: ${reason}` });
  if (!isTerminal(golden.status)) throw no('it has not ended');
  if (golden.is_withheld) throw no('the account keeps no content of it');
  if ((await countCalls(ctx, recordingOf(ctx, golden), null)) === 0) throw no('it has recorded no tool calls');
}

function recordingOf({ actor }: OpContext, { id, created_at, attempt }: RunRow): Recording {
  return { place: { accountId: actor.accountId, runId: id, day: dayOf(created_at) }, attempt };
}

function goldenOf({ input }: RunRow): unknown {
  const order = input['agentops_replay'];
  return isJsonObject(order) ? order['golden_run_id'] : undefined;
}

/** A run that is not there answers nothing, and is no fault of the worker's. */
function noneOf(error: unknown): undefined {
  if (error instanceof Error && 'code' in error && error.code === RunNotFound.code) return undefined;
  throw error;
}
