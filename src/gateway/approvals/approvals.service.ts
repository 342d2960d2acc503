import { Inject, Injectable } from '@nestjs/common';
import { AgentRegistry, WorkerConfigs } from '../../agents/index.ts';
import { Bus } from '../../platform/bus/bus.ts';
import { accountKey } from '../../platform/bus/keys.ts';
import { wireTime } from '../../platform/clock/clock.ts';
import { Database } from '../../platform/db/database.ts';
import { invariant } from '../../platform/faults/faults.ts';
import { newId } from '../../platform/ids/ids.ts';
import type { JsonObject } from '../../platform/json/json.ts';
import { cursorOf, placeOf } from '../../platform/operation/cursor.ts';
import type { In, OpContext, Out } from '../../platform/operation/operation.ts';
import { Masks } from '../../vault/index.ts';
import type { decideApproval, getApproval, listApprovals } from './approvals.contract.ts';
import { ApprovalChanged, ApprovalDecided, ApprovalExpired, ApprovalNotFound } from './approvals.faults.ts';
import {
  LISTED_BYTES,
  approvalRowsById,
  askAgain,
  decideRow,
  findApproval,
  insertApproval,
  listApprovalRows,
  markDelivered,
  type ApprovalRow,
} from './approvals.store.ts';
import { WINDOW_SECONDS, hashOf, type ApprovalState, type Proposal } from './proposal.policy.ts';

type View = Out<typeof getApproval>;

/** How a question stands, for whoever asked it. */
export interface Asked {
  readonly approvalId: string;
  readonly state: ApprovalState;
  readonly expiresAt: Date;
  readonly comment: string | null;
}

/** What needs no decision: it stands in no register. */
export interface Unasked {
  readonly approvalId: null;
  readonly state: 'not_governed' | 'denied';
  readonly comment: string | null;
}

/**
 * The register of what somebody must allow before an agent does it. A question is this tool call of this attempt with these
 * arguments: asked again it is the same question, with other arguments another one. It is decided once, by a guarded
 * statement, and its time runs by the database's clock.
 */
@Injectable()
export class Approvals {
  constructor(
    @Inject(Masks) private readonly masks: Masks,
    @Inject(AgentRegistry) private readonly agents: AgentRegistry,
    @Inject(WorkerConfigs) private readonly configs: WorkerConfigs,
    @Inject(Bus) private readonly bus: Bus,
    @Inject(Database) private readonly database: Database,
  ) {}

  async list(ctx: OpContext, query: In<typeof listApprovals>): Promise<Out<typeof listApprovals>> {
    const { run_id, agent_id, kind, state, limit, cursor } = query;
    const agentId = agent_id === undefined ? null : await this.agents.idOf(ctx, agent_id);
    if (agentId === undefined) return [];
    const rows = await listApprovalRows(ctx, {
      runId: run_id ?? null,
      agentId,
      kind: kind ?? null,
      state: state ?? null,
      after: placeOf(cursor),
      limit,
    });
    const last = rows.at(-1);
    if (last && rows.length === limit) ctx.header('x-next-cursor', cursorOf(last));
    return rows.map(toListed);
  }

  /** Approvals as lists show them, by id. */
  async views(ctx: OpContext, ids: readonly string[]): Promise<ReadonlyMap<string, View>> {
    return new Map((await approvalRowsById(ctx, ids)).map((row) => [row.id, toListed(row)]));
  }

  async get(ctx: OpContext, { approval_id: id }: In<typeof getApproval>): Promise<View> {
    return toView(await this.find(ctx, id));
  }

  /** @throws Fault 409 when it was decided before, is over, or is about other arguments than the decider has seen. */
  async decide(ctx: OpContext, input: In<typeof decideApproval>): Promise<View> {
    const { approval_id: id, state, comment = null, arguments_hash: argumentsHash = null } = input;
    ctx.note({ state, comment });
    const decided = await decideRow(ctx, id, { state, comment, argumentsHash });
    if (!decided) throw refusalOf(await this.find(ctx, id));
    const { run_id, agent_id, tool_name, arguments_hash } = decided;
    ctx.note({ run_id, agent_id, tool_name, arguments_hash });
    this.changed(ctx, id);
    return toView(decided);
  }

  /** Asks, or looks how it stands when the very same was asked before. What no rule covers any more needs no answer. */
  async ask(ctx: OpContext, proposal: Proposal): Promise<Asked | Unasked> {
    const hash = hashOf(proposal);
    const known = await askAgain(ctx, proposal, hash);
    if (known) return asked(known);
    const rule = await this.configs.governing(ctx, proposal.agentId, proposal);
    if (rule.outcome === 'nothing') return { approvalId: null, state: 'not_governed', comment: null };
    if (rule.outcome === 'deny')
      return { approvalId: null, state: 'denied', comment: `A rule refuses this${said(rule.ruleName)}.` };
    return this.open(ctx, proposal, hash, rule.windowSeconds ?? proposal.windowSeconds ?? WINDOW_SECONDS.usual);
  }

  private async open(ctx: OpContext, proposal: Proposal, hash: string, windowSeconds: number): Promise<Asked> {
    const id = newId('approval', ctx.now.getTime());
    const stored = await this.masked(ctx, proposal);
    const row = await insertApproval(ctx, id, proposal, { stored, hash, windowSeconds });
    if (row) {
      const { runId: run_id, toolName: tool_name, ruleId: rule_id } = proposal;
      const detail = { run_id, tool_name, rule_id, arguments_hash: hash };
      ctx.record({ action: 'approval.request', target: ['approval', id], outcome: 'done', detail });
      this.changed(ctx, id);
      return asked(row);
    }
    const asTheOther = await askAgain(ctx, proposal, hash); // the same question was asked at the same time
    invariant(asTheOther, 'a question that is taken can be found');
    return asked(asTheOther);
  }

  /** The worker that asked was told how these stand. */
  async delivered(accountId: string, ids: readonly string[]): Promise<void> {
    await markDelivered(this.database, accountId, ids);
  }

  /** What may be kept of what was proposed. */
  private async masked(ctx: OpContext, proposal: Proposal): Promise<JsonObject | null> {
    return (await this.masks.of(ctx, proposal)).value(proposal.arguments, 'arguments');
  }

  private async find(ctx: OpContext, id: string): Promise<ApprovalRow> {
    const row = await findApproval(ctx, id);
    if (!row) throw ApprovalNotFound();
    return row;
  }

  private changed(ctx: OpContext, id: string): void {
    ctx.afterCommit(() => this.bus.poke('approval.changed', accountKey(ctx.actor.accountId, id)));
  }
}

function refusalOf({ state }: ApprovalRow) {
  if (state === 'pending') return ApprovalChanged();
  if (state === 'expired') return ApprovalExpired({ message: 'Nobody decided in time' });
  if (state === 'withdrawn') return ApprovalExpired({ message: 'The run ended before anybody decided' });
  return ApprovalDecided();
}

function asked({ id, state, expires_at, comment }: ApprovalRow): Asked {
  return { approvalId: id, state, expiresAt: expires_at, comment };
}

function said(name: string): string {
  return name === '' ? '' : `: ${name}`;
}

function toListed(row: ApprovalRow): View {
  return { ...toView(row), ...(row.arguments_bytes > LISTED_BYTES ? { arguments_truncated: true } : {}) };
}

const time = (at: Date | null): string | null => at && wireTime(at);

function toView(row: ApprovalRow): View {
  const { id, decided_by, decided_label, rule_id, rule_name } = row;
  const { kind, state, run_id, agent_id, worker_id, attempt, tool_use_id, tool_name } = row;
  return {
    approval_id: id,
    ...{ kind, state, run_id, agent_id, worker_id, attempt, tool_use_id, tool_name },
    ...{ workflow_id: null, instance_id: null, step_id: null },
    rule: { id: rule_id, name: rule_name },
    arguments: row.arguments,
    arguments_hash: row.arguments_hash,
    asked_by: row.asked_by,
    asked_at: wireTime(row.asked_at),
    expires_at: wireTime(row.expires_at),
    decided_at: time(row.decided_at),
    decided_by: decided_by === null ? null : { principal_id: decided_by, label: decided_label ?? decided_by },
    decided_via: row.decided_via,
    comment: row.comment,
    delivered_at: time(row.delivered_at),
  };
}
