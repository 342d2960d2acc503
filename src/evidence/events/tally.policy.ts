import { timeOf } from '../spans/edges.policy.ts';
import type { ReadyEvent, Refusal } from './batch.policy.ts';

/** What a batch adds to the account of its run. */
export interface Tally {
  readonly duplicate: number;
  readonly refused: number;
  /** `{code: count}` as JSON; null where nothing was refused. */
  readonly refusedCodes: string | null;
  readonly truncated: number;
  readonly altered: number;
  /** The worker's own time of the last event that has one: just before it sent the batch. */
  readonly saidMs: number | null;
}

export function tallyOf(
  events: readonly Pick<ReadyEvent, 'truncated' | 'altered' | 'timestamp'>[],
  refused: readonly Refusal[],
  duplicate: number,
): Tally {
  const last = events.findLast(({ timestamp }) => timestamp !== undefined);
  return {
    duplicate,
    refused: refused.length,
    refusedCodes: refused.length === 0 ? null : JSON.stringify(countCodes(refused)),
    truncated: events.filter(({ truncated }) => truncated.length > 0).length,
    altered: events.filter(({ altered }) => altered.length > 0).length,
    saidMs: timeOf(last?.timestamp),
  };
}

function countCodes(refused: readonly Refusal[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { code } of refused) counts[code] = (counts[code] ?? 0) + 1;
  return counts;
}
