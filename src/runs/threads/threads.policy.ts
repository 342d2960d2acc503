import { scanJson } from '../../platform/json/scan.ts';
import { isTerminal, type RunStatus } from '../lifecycle/lifecycle.states.ts';

/** Whether another run may go on with the session of this one: it has ended, and its worker left the state of the session. */
export function isRevivable({
  status,
  has_snapshot,
}: {
  readonly status: RunStatus;
  readonly has_snapshot: boolean;
}): boolean {
  return isTerminal(status) && has_snapshot;
}

/**
 * Why no worker could read a snapshot, in words; undefined when any can. Worker SDKs end on what they cannot parse
 * (worker-protocol.md A11), so it is asked before a run is made for it.
 */
export function unreadableSnapshot(snapshot: string, deepest: number): string | undefined {
  const { depth, hasLoneSurrogate } = scanJson(Buffer.from(snapshot));
  if (depth > deepest) return `its snapshot is nested deeper than ${deepest} levels`;
  return hasLoneSurrogate ? 'its snapshot holds one half of a surrogate pair alone' : undefined;
}
