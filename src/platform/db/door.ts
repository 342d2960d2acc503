import type { Config } from '../config/config.ts';
import { DatabaseBusy, OverloadAccount } from '../faults/faults.ts';
import { FairGate } from '../overload/fair-gate.ts';
import type { Neighbours } from '../overload/neighbours.ts';

/**
 * What a transaction is for, as far as its turn at the database goes.
 * - `work`: what moves runs: claims, starts, reports and other signs of workers, and what the program does by itself
 * - `call`: what callers change
 * - `read`: what callers look at
 * - `ingest`: evidence whose sender can send it again
 * - `frames`: evidence that is sent once
 */
export type Errand = 'work' | 'call' | 'read' | 'ingest' | 'frames';

/** PostgreSQL takes 100 connections by default, shared by all replicas: 10 + 4 + 1 listener + 1 maintenance a replica. */
export const APP_CONNECTIONS = 10;
/** Two connections are always left for whoever comes next, so that it waits for nobody. */
const PER_ACCOUNT = 8;
/** Half of an account's part: neither its ingest nor its lists, both slow, keep it from its other errands. */
const SLOW = 4;
/** While other accounts are there as well. The connections would do for more, but the processors behind them are fewer. */
const BESIDE_OTHERS = { call: 4, slow: 2 };
/** Those who move runs are as many as there are workers, each with one or two requests. */
const WORKERS_A_CALLER = 20;

/** What says how long and how many may wait. */
export type Waits = Pick<Config, 'turnWaitSeconds' | 'eventsWaitSeconds' | 'waitingPerAccount'>;

/** The gate before the connections of accounts. */
export function openDoor(waits: Waits, neighbours: Neighbours): FairGate<Errand> {
  const { turnWaitSeconds, eventsWaitSeconds, waitingPerAccount: waiting } = waits;
  const waitMs = turnWaitSeconds * 1_000;
  const calls = (account: string): number => (neighbours.areThere(account) ? BESIDE_OTHERS.call : PER_ACCOUNT);
  const slow = (account: string): number => (neighbours.areThere(account) ? BESIDE_OTHERS.slow : SLOW);
  return new FairGate<Errand>({
    capacity: APP_CONNECTIONS,
    perAccount: PER_ACCOUNT,
    lanes: {
      work: { most: PER_ACCOUNT, waiting: waiting * WORKERS_A_CALLER, waitMs, isUrgent: true },
      call: { most: calls, waiting, waitMs, rests: true, isUrgent: true },
      read: { most: slow, waiting, waitMs, rests: true },
      frames: { most: slow, waiting: waiting * WORKERS_A_CALLER, waitMs: eventsWaitSeconds * 1_000, rests: true },
      ingest: { most: slow, waiting, waitMs, rests: true },
    },
    full: OverloadAccount,
    late: DatabaseBusy,
    neighbours,
  });
}
