import { sha256OfCanonical, type JsonObject } from '../../platform/json/json.ts';

/** How long a question stays open, where no rule says otherwise, and within which bounds a rule may say so. */
export const WINDOW_SECONDS = { least: 300, most: 43_200, usual: 3_600 } as const;

export type ApprovalState = 'pending' | 'approved' | 'denied' | 'expired' | 'withdrawn';

/** Something that an agent wants to do, and may not before somebody has allowed it. */
export interface Proposal {
  readonly agentId: string;
  readonly runId: string;
  readonly attempt: number;
  readonly workerId: string;
  readonly toolUseId: string;
  readonly toolName: string;
  readonly ruleId: string;
  readonly ruleName: string | null;
  readonly arguments: JsonObject | null;
  readonly askedBy: string | null;
  /** What the worker knows of it; the rule in force counts for more. */
  readonly windowSeconds: number | null;
}

/** What a decision is bound to: this tool with these arguments, as they were proposed. No arguments are empty ones. */
export function hashOf({ toolName, arguments: proposed }: Pick<Proposal, 'toolName' | 'arguments'>): string {
  return sha256OfCanonical({ tool_name: toolName, arguments: proposed ?? {} }).toString('hex');
}
