import { z } from 'zod';
import type { InputProblem } from '../../platform/json/problems.ts';

/** A time that the SDK can read: Python reads less than JavaScript does, and knows no year 0. */
export const ReplayClock = z.iso
  .datetime({ offset: true, local: true, error: 'must be an ISO 8601 time' })
  .refine((text) => !text.startsWith('0000'), 'must be a year that there was');

/** What the SDK reads of `input.agentops_replay` (worker-protocol.md §15). */
const ReplayOrder = z.looseObject({
  golden_run_id: z.string().refine((id) => id.trim() !== '', 'must be the id of a run'),
  mode: z.literal('block').nullish(),
  intercept: z.array(z.string()).nullish(),
  clock: ReplayClock.nullish(),
});

/** Whether an input orders a replay, so that only a worker that can replay may take its run. */
export function needsReplay(input: Readonly<Record<string, unknown>>): boolean {
  return Object.hasOwn(input, 'agentops_replay');
}

/**
 * What is wrong with the replay order of an input, if it has one. The SDK drops a run whose order it cannot read without a
 * word, and would do so at each offer (worker-protocol.md §23.26): so it is refused at the entry.
 */
export function replayProblems(input: Readonly<Record<string, unknown>>): InputProblem[] {
  if (!needsReplay(input)) return [];
  const result = ReplayOrder.safeParse(input['agentops_replay']);
  if (result.success) return [];
  return result.error.issues.map(({ path, message, code }) => ({
    loc: ['body', 'input', 'agentops_replay', ...path.map(String)],
    msg: message,
    type: code,
  }));
}
