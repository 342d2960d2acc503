import { judgeUrl, type Opened } from '../../platform/outbound/address.policy.ts';

/** What is known of dialling a worker; of the address that it gives now. */
export interface DirectFacts {
  readonly endpoint_url: string | null;
  /** Of the last call: `unsent`, nothing could be sent; `excluded`, what its name resolves to may not be called. */
  readonly direct_outcome: 'answered' | 'lost' | 'unsent' | 'excluded' | null;
  /** Why there was no answer. */
  readonly direct_said: string | null;
}

/** Why it is never dialled, as far as its address says it, or the addresses of its name did; undefined when it may be. */
export function directExclusion(
  { endpoint_url: url, direct_outcome: outcome, direct_said: said }: DirectFacts,
  opened: Opened,
): string | undefined {
  if (url === null) return 'it gives no address';
  const judged = judgeUrl(url, opened);
  if ('excluded' in judged) return judged.excluded;
  return outcome === 'excluded' ? (said ?? '') : undefined;
}

/** Whether a run can be taken to it now: its address may be called, and did not refuse the last call. */
export function isDialable(facts: DirectFacts, opened: Opened): boolean {
  return directExclusion(facts, opened) === undefined && facts.direct_outcome !== 'unsent';
}

/** For operators; null when it gives no address, or was never dialled. */
export function directResult(facts: DirectFacts, opened: Opened): string | null {
  if (facts.endpoint_url === null) return null;
  const excluded = directExclusion(facts, opened);
  if (excluded !== undefined) return `excluded: ${excluded}`;
  const { direct_outcome: outcome, direct_said: said } = facts;
  return said === null ? outcome : `${String(outcome)}: ${said}`;
}
