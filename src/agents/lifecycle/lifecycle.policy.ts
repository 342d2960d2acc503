import type { Fault } from '../../platform/faults/faults.ts';
import type { AgentRow } from '../registry/registry.store.ts';
import { AgentArchived, AgentDisabled } from './lifecycle.faults.ts';

/** Somebody asks, in person or by a program, and hears what became of it. Whatever else starts runs fires by itself. */
const ASKED = ['rest', 'ui', 'chat', 'mcp', 'a2a', 'agent', 'replay', 'otlp'];

/**
 * Why an agent takes no run of this origin, if it does not. Every entry asks this and nothing else. The step of a workflow
 * asks with the origin of the workflow, since a step is automated if its workflow is.
 */
export function closedTo(agent: Pick<AgentRow, 'is_enabled' | 'is_archived'>, originKind: string): Fault | undefined {
  if (agent.is_archived) return AgentArchived();
  return agent.is_enabled || ASKED.includes(originKind) ? undefined : AgentDisabled();
}
