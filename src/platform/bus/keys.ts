/** The one notification channel of the database; topics travel inside. */
export const POKE_CHANNEL = 'signalbox_poke';

/**
 * What a poke may be about, and what its id means.
 * `agent.work`: an agent has queued runs (`accountKey`). `run.grew`: a run has new entries (`accountKey`). `run.ended`: a run is
 * terminal (`accountKey`). `run.cancelled`: a worker should hear of a cancel (`accountKey`). `credentials.changed`: caches of
 * credentials and grants are out of date (no id). `channel.opened`: a worker's channel was opened elsewhere (`accountKey`).
 * `approval.changed`: an approval was asked for, decided, or is over (`accountKey`).
 * `agent.configured`: what its workers are configured with changed (`accountKey`).
 * `worker.told`: a worker's mode changed, or it is to be told something (`accountKey`).
 */
export type PokeTopic =
  | 'agent.work'
  | 'run.grew'
  | 'run.ended'
  | 'run.cancelled'
  | 'credentials.changed'
  | 'channel.opened'
  | 'worker.told'
  | 'approval.changed'
  | 'agent.configured'
  | 'replica.joined'
  | 'outbox.filled';

/** Ids that callers choose are unique within their account only, so the account is part of every key. */
export function accountKey(accountId: string, id: string): string {
  return `${accountId}/${id}`;
}

/** The parts of `accountKey`. Account ids hold no slash; what follows the first one is the id, whatever it holds. */
export function splitAccountKey(key: string): readonly [accountId: string, id: string] {
  const slash = key.indexOf('/');
  return [key.slice(0, slash), key.slice(slash + 1)];
}
