import { z } from 'zod';
import { freeObject, isJsonObject } from '../../platform/json/json.ts';
import { operation } from '../../platform/operation/operation.ts';
import { AgentInstanceResponse, AgentRef } from '../registry/registry.contract.ts';
import { AgentNotFound } from '../registry/registry.faults.ts';

const MOST_LABELS = 50;
const LONGEST_NAME = 63;
const LONGEST_VALUE = 1_000;

/** A record would drop `__proto__`. */
const Labels = freeObject()
  .check(({ value, issues }) => {
    if (!isJsonObject(value)) return;
    const entries = Object.entries(value);
    if (entries.length > MOST_LABELS)
      issues.push({ code: 'custom', message: `has more than ${MOST_LABELS} labels`, input: undefined });
    for (const [name, text] of entries) {
      const problem = labelProblem(name, text);
      if (problem) issues.push({ code: 'custom', path: [name], message: problem, input: undefined });
    }
  })
  .meta({ type: 'object', additionalProperties: { type: 'string' } });

function labelProblem(name: string, text: unknown): string | undefined {
  if (name === '' || name.length > LONGEST_NAME) return `a label’s name has 1 to ${LONGEST_NAME} characters`;
  if (typeof text !== 'string') return 'a label is a text';
  return text.length > LONGEST_VALUE ? `a label has at most ${LONGEST_VALUE} characters` : undefined;
}

const changes = {
  capability: 'agent.update',
  scope: ({ agent_id }: { readonly agent_id: string }) => ({ agent: agent_id }),
  output: AgentInstanceResponse,
  faults: [AgentNotFound],
} as const;
const path = z.object({ agent_id: AgentRef });
const target = ({ agent_id }: { readonly agent_id: string }) => ['agent', agent_id] as const;

export const setAgentLabels = operation({
  ...changes,
  id: 'agents.set_labels',
  summary: 'Gives an agent these labels in place of all it has; what its workers say of labels counts no more.',
  http: { method: 'PATCH', path: '/api/v1/agents/{agent_id}/labels', status: 200 },
  audit: { action: 'agent.set_labels', target },
  input: { path, body: z.object({ labels: Labels.nullish() }).meta({ id: 'UpdateAgentLabelsRequest' }) },
});

export const setAgentGroup = operation({
  ...changes,
  id: 'agents.set_mcp_group',
  summary: 'Takes an agent out of its group of MCP servers. There are no groups yet that it could be put into.',
  http: { method: 'PATCH', path: '/api/v1/agents/{agent_id}/mcp-group', status: 200 },
  audit: { action: 'agent.set_mcp_group', target },
  input: { path, body: z.object({ mcp_group_id: z.string().nullable() }).meta({ id: 'SetMcpGroupRequest' }) },
});
