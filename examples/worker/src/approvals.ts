/** Asking whether a tool call may be made, and waiting for the answer (worker-protocol §14). */

import { isFinal, sentence } from './errors.ts';
import { newId, type FrameLink } from './frames.ts';
import type { JsonObject } from './json.ts';
import { pause } from './timing.ts';

/** How the control plane calls the agent's default rule, behind which all others are looked through. */
const BY_THE_RULES = 'agent-default';

/** What is asked. */
export interface ApprovalRequest {
  readonly tool: string;
  /** The arguments that will be used: whoever decides sees them, and other arguments are another question. */
  readonly arguments?: JsonObject;
  /**
   * The rule that makes the agent ask. Unless said, the rules that operators have set decide: what none of them covers is
   * allowed at once; where there are none at all, a person decides. A rule of the agent's own always asks a person.
   */
  readonly ruleId?: string;
  readonly ruleName?: string;
  /** Who asks, for people. */
  readonly askedBy?: string;
  /** How long somebody may take to decide, in seconds, from 300 to 43,200. The rule's own window comes first. */
  readonly windowSeconds?: number;
  /** Names the call; the same one asked again is the same question. A fresh one unless said. */
  readonly toolUseId?: string;
}

/** How a question ended. */
export interface Approval {
  /** Whether the call may be made: it was approved, or no rule covers it (`not_governed`). */
  readonly allowed: boolean;
  /** `approved`, `not_governed`, `denied`, `expired`, `withdrawn` or `declined_act_off`. */
  readonly state: string;
  /** Empty where the question needed no answer. */
  readonly approvalId: string;
  /** What the one who decided said, or why nobody was asked. */
  readonly reason: string | undefined;
}

/** The questions of this worker that are open. */
export class Questions {
  readonly #link: FrameLink;
  readonly #log: (line: string) => void;
  /** By approval id: called when the channel says that it was decided. */
  readonly #open = new Map<string, () => void>();

  constructor(link: FrameLink, log: (line: string) => void) {
    this.#link = link;
    this.#log = log;
  }

  /** The channel says that a question was decided. How, is asked: one way to read an answer is enough. */
  decided(approvalId: unknown): void {
    if (typeof approvalId === 'string') this.#open.get(approvalId)?.();
  }

  /**
   * Asks, and waits until it is decided or its time is over.
   * @throws the reason of `signal` when the run is cancelled meanwhile.
   * @throws Refused when the control plane does not take the question.
   */
  async ask(runId: string, request: ApprovalRequest, signal: AbortSignal): Promise<Approval> {
    const payload = toWire(runId, request);
    for (;;) {
      signal.throwIfAborted();
      const answer = await this.#look(payload, signal);
      if (answer && answer.state !== 'pending') return answer;
      await this.#decision(answer?.approvalId, signal);
    }
  }

  /** Undefined: it could not be asked now. */
  async #look(payload: JsonObject, signal: AbortSignal): Promise<Approval | undefined> {
    try {
      const answer = await this.#link.report('action_approval_requested', payload, signal);
      const state = String(answer['state']);
      const reason = typeof answer['reason'] === 'string' ? answer['reason'] : undefined;
      const allowed = state === 'approved' || state === 'not_governed';
      return { allowed, state, reason, approvalId: String(answer['approval_id'] ?? '') };
    } catch (error) {
      signal.throwIfAborted();
      if (isFinal(error)) throw error;
      this.#log(`a question was not heard: ${sentence(error)}; asking again`);
      return undefined;
    }
  }

  /** Waits for the channel to say that it was decided, but no longer than until it is time to ask again. */
  async #decision(approvalId: string | undefined, signal: AbortSignal): Promise<void> {
    const decided = new AbortController();
    if (approvalId !== undefined) this.#open.set(approvalId, () => decided.abort());
    await pause(this.#link.timing.askAgainEvery, AbortSignal.any([signal, decided.signal]));
    if (approvalId !== undefined) this.#open.delete(approvalId);
  }
}

function toWire(runId: string, request: ApprovalRequest): JsonObject {
  const { tool, ruleId = BY_THE_RULES, ruleName, askedBy, windowSeconds, toolUseId = newId('toolu_') } = request;
  return {
    run_id: runId,
    tool_use_id: toolUseId,
    tool_name: tool,
    rule_id: ruleId,
    ...(ruleName === undefined ? {} : { rule_name: ruleName }),
    ...(request.arguments === undefined ? {} : { arguments: request.arguments }),
    ...(askedBy === undefined ? {} : { asked_by: askedBy }),
    ...(windowSeconds === undefined ? {} : { window_seconds: windowSeconds }),
  };
}
