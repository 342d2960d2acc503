import { Inject, Injectable } from '@nestjs/common';
import { invalid } from '../../platform/faults/faults.ts';
import type { In, OpContext, Out } from '../../platform/operation/operation.ts';
import { AgentRegistry } from '../registry/registry.service.ts';
import { differencesBetween } from './differences.policy.ts';
import { generationView } from './generation-view.policy.ts';
import type { getGeneration, listGenerations as listing } from './versions.contract.ts';
import { GenerationNotFound } from './versions.faults.ts';
import { listGenerations, wholeGenerations } from './versions.store.ts';

/** What an agent was, version by version: a manifest is what its workers said, and stays as they said it. */
@Injectable()
export class AgentVersions {
  constructor(@Inject(AgentRegistry) private readonly agents: AgentRegistry) {}

  async list(ctx: OpContext, { agent_id, limit, cursor }: In<typeof listing>): Promise<Out<typeof listing>> {
    const agentId = await this.agents.require(ctx, agent_id);
    const rows = await listGenerations(ctx, agentId, { after: generationOf(cursor), limit });
    const last = rows.at(-1);
    if (last && rows.length === limit) ctx.header('x-next-cursor', String(last.generation));
    const live = await this.agents.liveWorkers(ctx, agentId);
    return rows.map((row) => generationView(row, live.get(row.generation) ?? 0));
  }

  /** @throws Fault 404 `agent_version.not_found`; 422 where there is no version to compare with. */
  async show(ctx: OpContext, input: In<typeof getGeneration>): Promise<Out<typeof getGeneration>> {
    const { generation, compare } = input;
    const agentId = await this.agents.require(ctx, input.agent_id);
    const rows = await wholeGenerations(ctx, agentId, compare === undefined ? [generation] : [generation, compare]);
    const shown = rows.find((row) => row.generation === generation);
    if (!shown) throw GenerationNotFound();
    const other = rows.find((row) => row.generation === compare);
    if (compare !== undefined && !other) throw invalid(['query', 'compare'], 'the agent has no such version');
    const live = await this.agents.liveWorkers(ctx, agentId);
    const differences = other && differencesBetween(other, shown);
    return {
      ...generationView(shown, live.get(generation) ?? 0),
      manifest: shown.manifest,
      skills: [...shown.skills],
      diff: differences?.shown ?? null,
      diff_truncated: differences?.areMore ?? false,
    };
  }
}

/** @throws Fault 422 for a cursor that this list has not made. */
function generationOf(cursor: string | undefined): number {
  if (cursor === undefined) return 0;
  if (!/^[1-9]\d{0,8}$/.test(cursor)) throw invalid(['query', 'cursor'], 'is not a cursor of this list');
  return Number(cursor);
}
