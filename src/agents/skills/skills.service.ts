import { Inject, Injectable } from '@nestjs/common';
import type { In, OpContext, Out } from '../../platform/operation/operation.ts';
import { AgentRegistry } from '../registry/registry.service.ts';
import { detailOf, summariesOf, summaryOf } from './skill-view.policy.ts';
import type { getSkill, listSkills } from './skills.contract.ts';
import { SkillNotFound } from './skills.faults.ts';
import { listSkillRows, skillRowsNamed, skillRowsOf, wholeSkill } from './skills.store.ts';

type Summaries = Out<typeof listSkills>;

/** What agents know how to do, as their workers bring it along. Two agents may have other things under one id. */
@Injectable()
export class AgentSkills {
  constructor(@Inject(AgentRegistry) private readonly agents: AgentRegistry) {}

  async list(ctx: OpContext, { agent_id: ref }: In<typeof listSkills>): Promise<Summaries> {
    const agentId = ref === undefined ? null : await this.agents.idOf(ctx, ref);
    if (agentId === undefined) return [];
    return summariesOf(await listSkillRows(ctx, agentId), ({ skill_id }) => skill_id);
  }

  /** @throws Fault 404 `skill.not_found` where no agent has it, or not the one that was asked about. */
  async show(ctx: OpContext, { skill_id: skillId, agent_id: ref }: In<typeof getSkill>): Promise<Out<typeof getSkill>> {
    const rows = await skillRowsOf(ctx, skillId);
    const agentId = ref === undefined ? rows[0]?.agent_id : await this.agents.idOf(ctx, ref);
    const shown = rows.find(({ agent_id }) => agent_id === agentId);
    if (!shown) throw SkillNotFound();
    return detailOf(summaryOf(shown, rows), await wholeSkill(ctx, shown));
  }

  /** By each of these names, the skills that have it as their name or id: one entry for each content. None is guessed. */
  async named(ctx: OpContext, names: readonly string[]): Promise<Record<string, Summaries>> {
    const rows = await skillRowsNamed(ctx, names);
    const matching = (name: string): Summaries =>
      summariesOf(
        rows.filter((row) => row.name === name || row.skill_id === name),
        ({ skill_id, md5 }) => JSON.stringify([skill_id, md5]),
      );
    return Object.fromEntries(names.map((name) => [name, matching(name)]));
  }
}
