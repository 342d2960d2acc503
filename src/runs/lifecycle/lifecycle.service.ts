import { isDeepStrictEqual } from 'node:util';
import { Inject, Injectable } from '@nestjs/common';
import { AgentDraining, AgentRegistry, closedTo, type AgentRow } from '../../agents/index.ts';
import { Bus } from '../../platform/bus/bus.ts';
import { accountKey } from '../../platform/bus/keys.ts';
import { CONFIG, type Config } from '../../platform/config/config.ts';
import { withinTime } from '../../platform/db/time-limit.ts';
import { IdempotencyConflict, InputInvalid, invariant, type Fault } from '../../platform/faults/faults.ts';
import { newId } from '../../platform/ids/ids.ts';
import { cursorOf, placeOf } from '../../platform/operation/cursor.ts';
import type { In, OpContext, Out } from '../../platform/operation/operation.ts';
import { readRecords } from '../records/records.store.ts';
import type { cancelRun, createRun, getRun, listRuns } from './lifecycle.contract.ts';
import { AccountQueueFull, AgentQueueFull, ListTooSlow, RunNotFound } from './lifecycle.faults.ts';
import { isQueueFull } from './admission.store.ts';
import { textFilters, type TextFilters } from './filters.policy.ts';
import { isTerminal } from './lifecycle.states.ts';
import { needsReplay, replayProblems } from './replay.policy.ts';
import { toDetail, toListed, toSummary, type RunSummaryView } from './lifecycle.policy.ts';
import {
  cancelRunRow,
  findRun,
  findRunByEvent,
  insertRun,
  listRunRows,
  type NewRun,
  type RunRow,
  runRowsById,
} from './lifecycle.store.ts';

/** How a run is asked for, whatever the entry. */
export interface RunOrder {
  readonly agentRef: string;
  readonly input: Readonly<Record<string, unknown>> | null | undefined;
  readonly channel: RunRow['channel'] | null | undefined;
  readonly transport: RunRow['transport'];
  readonly origin: { readonly kind: string; readonly id: string | null };
  readonly eventId?: string | null | undefined;
  readonly metadata?: Readonly<Record<string, unknown>> | undefined;
  readonly usage?: Readonly<Record<string, unknown>> | null | undefined;
  readonly labels?: Labels | null | undefined;
  /** The run with whose session it goes on. */
  readonly revives?: { readonly runId: string; readonly threadId: string } | undefined;
  /** The run that it replays; it shows in its id. */
  readonly replays?: string | undefined;
  /** Which worker may take it; absent: any. */
  readonly require?:
    { readonly version?: string | null | undefined; readonly labels?: Labels | null | undefined } | null | undefined;
}

type Labels = Readonly<Record<string, unknown>>;

/** The rules of a run's life as callers see it. Whoever works on it speaks to `RunMoves`. */
@Injectable()
export class RunLifecycle {
  constructor(
    @Inject(AgentRegistry) private readonly agents: AgentRegistry,
    @Inject(Bus) private readonly bus: Bus,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /** `POST /runs`: queued, and answered at once. */
  async create(ctx: OpContext, request: In<typeof createRun>): Promise<RunSummaryView> {
    const { agent_id: agentRef, input, channel, metadata, usage, labels, require } = request;
    const row = await this.order(ctx, {
      agentRef,
      input,
      channel,
      metadata,
      usage,
      labels,
      require,
      transport: 'polling',
      origin: { kind: 'rest', id: null },
    });
    return toSummary(row);
  }

  /** Makes the run that an entry asks for; with a known `eventId` it is the run that this id made. */
  async order(ctx: OpContext, order: RunOrder): Promise<RunRow> {
    const agent = await this.agents.find(ctx, order.agentRef);
    const input = await this.acceptable(agent, order.input ?? {});
    const run = newRun(ctx, agent.id, { ...order, input });
    const refusal = closedTo(agent, order.origin.kind) ?? (await this.refusalOf(ctx, agent));
    const row = refusal
      ? await this.known(ctx, run, refusal)
      : ((await insertRun(ctx, run)) ?? (await this.known(ctx, run)));
    ctx.note({ run_id: row.id, agent_id: agent.id });
    ctx.afterCommit(() => this.bus.poke('agent.work', accountKey(ctx.actor.accountId, agent.id)));
    return row;
  }

  async list(ctx: OpContext, query: In<typeof listRuns>): Promise<Out<typeof listRuns>> {
    const { thread_id, agent_id, status, channel, from, to, cursor, limit } = query;
    const agentId = agent_id === undefined || agent_id === null ? null : await this.agents.idOf(ctx, agent_id);
    if (agentId === undefined) return [];
    const filter = {
      ...textFiltersOf(ctx, query),
      agentId,
      threadId: thread_id ?? null,
      status: status ?? null,
      channel: channel ?? null,
      from: from ?? null,
      to: to ?? null,
      after: placeOf(cursor),
      limit,
    };
    const read = () => listRunRows(ctx, filter);
    const isWalk = filter.errorText !== null || filter.labels !== null;
    const rows = isWalk ? await withinTime(ctx, this.config.searchSeconds, ListTooSlow, read) : await read();
    const last = rows.at(-1);
    if (last && rows.length === limit) ctx.header('x-next-cursor', cursorOf(last));
    return rows.map(toListed);
  }

  /** Runs as lists show them, by id. */
  async views(ctx: OpContext, ids: readonly string[]): Promise<ReadonlyMap<string, RunSummaryView>> {
    return new Map((await runRowsById(ctx, ids)).map((row) => [row.id, toListed(row)]));
  }

  async detail(ctx: OpContext, { run_id }: In<typeof getRun>): Promise<Out<typeof getRun>> {
    const row = await this.find(ctx, run_id);
    return toDetail(row, await readRecords(ctx, row));
  }

  /** @throws Fault `run.not_found`, also for another account's run. */
  async find(ctx: OpContext, runId: string): Promise<RunRow> {
    const row = await findRun(ctx, ctx.actor.accountId, runId);
    if (!row) throw RunNotFound();
    return row;
  }

  /** One guarded UPDATE decides; of a run that has ended nothing changes and it is answered as it is. */
  async cancel(ctx: OpContext, { run_id, reason }: In<typeof cancelRun>): Promise<RunSummaryView> {
    const cancelled = await cancelRunRow(ctx, run_id, reason ?? null);
    ctx.note({ reason: reason ?? null, changed: cancelled !== undefined });
    if (!cancelled) return toSummary(await this.find(ctx, run_id));
    const key = accountKey(ctx.actor.accountId, run_id);
    ctx.afterCommit(() => {
      this.bus.poke('run.cancelled', key);
      this.bus.poke('run.grew', key);
      this.bus.poke('run.ended', key);
    });
    return toSummary(cancelled);
  }

  /** @throws Fault 422 for an input that the agent's schema refuses, or that no worker can parse. */
  private async acceptable(
    agent: AgentRow,
    input: Readonly<Record<string, unknown>>,
  ): Promise<Readonly<Record<string, unknown>>> {
    const problems = [...replayProblems(input), ...(await this.agents.checkInput(agent, input))];
    if (problems.length > 0) throw InputInvalid({ message: 'The input does not fit the agent’s schema', problems });
    return input;
  }

  /** Why no run may be added now. Takes its turn among those who ask the same, until the end of the transaction. */
  private async refusalOf(ctx: OpContext, agent: AgentRow): Promise<Fault | undefined> {
    if (agent.queue_state === 'draining') return AgentDraining();
    const { max_queued_runs: ofAgent, account_queued_runs: ofAccount } = agent;
    // Always in this order, so that nobody waits for each other.
    if (ofAgent !== null && (await isQueueFull(ctx, ofAgent, agent.id))) return AgentQueueFull();
    if (ofAccount !== null && (await isQueueFull(ctx, ofAccount))) return AccountQueueFull();
    return undefined;
  }

  /**
   * The run that this event id has made, which needs no place in the queue.
   * @throws Fault `idempotency.conflict` if it was asked for otherwise, and the refusal where there is none.
   */
  private async known(ctx: OpContext, run: NewRun, refusal?: Fault): Promise<RunRow> {
    const known = run.eventIsCallers
      ? await findRunByEvent(ctx, ctx.actor.accountId, run.agentId, run.eventId)
      : undefined;
    if (!known && refusal) throw refusal;
    invariant(known, 'an event id that is taken has a run');
    if (!isSameOrder(known, run))
      throw IdempotencyConflict({
        message: 'This event_id was used with another input, or other labels or requirements',
      });
    return known;
  }
}

/** @throws Fault 422 for a search without its bounds. */
function textFiltersOf({ now }: OpContext, query: Readonly<Record<string, unknown>>): TextFilters {
  const read = textFilters(query, now);
  if ('problems' in read)
    throw InputInvalid({ message: 'The list is asked for without its bounds', problems: read.problems });
  return read.filters;
}

function newRun({ now }: OpContext, agentId: string, order: RunOrder): NewRun {
  const { eventId, input, require } = order;
  return {
    id: newId(order.replays === undefined ? 'run' : 'replay', now.getTime()),
    agentId,
    channel: order.channel ?? 'api',
    transport: order.transport,
    origin: order.origin,
    eventId: eventId ?? newId('event', now.getTime()),
    eventIsCallers: typeof eventId === 'string',
    input: JSON.stringify(input ?? {}),
    metadata: JSON.stringify(order.metadata ?? {}),
    usage: order.usage ? JSON.stringify(order.usage) : null,
    labels: JSON.stringify(order.labels ?? {}),
    requireVersion: require?.version ?? null,
    requireLabels: JSON.stringify(require?.labels ?? {}),
    needsReplay: needsReplay(input ?? {}),
    ...linksOf(order),
  };
}

/** Which runs it goes on from. */
function linksOf({ revives, replays }: RunOrder): Pick<NewRun, 'revives' | 'parentRunId'> {
  return { revives: revives ?? null, parentRunId: replays ?? null };
}

/** Whether an event that comes again asks for what it asked for before. */
function isSameOrder(known: RunRow, run: NewRun): boolean {
  return (
    known.require_version === run.requireVersion &&
    (isForgotten(known) || isDeepStrictEqual(known.input, JSON.parse(run.input))) &&
    isDeepStrictEqual(
      [known.labels, known.require_labels],
      [run.labels, run.requireLabels].map((text) => JSON.parse(text)),
    )
  );
}

/** What it was asked is not known any more. */
function isForgotten({ is_withheld, status }: RunRow): boolean {
  return is_withheld && isTerminal(status);
}
