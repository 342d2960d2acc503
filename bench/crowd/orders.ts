/** What a worker of a crowd does with a run that it is given. */
export type Conduct = 'completes it' | 'never starts it' | 'never ends it';

/** One agent of a crowd's workers. */
export interface CrowdAgent {
  readonly handle: string;
  readonly token: string;
}

/** What the bench asks of its crowd, one thing at a time. */
export type Order =
  | {
      /** Opens channels until there are `upTo`, taking the agents in turns, and says nothing on them. Done when the last one is open. */
      readonly do: 'open';
      readonly url: string;
      readonly agents: readonly CrowdAgent[];
      readonly conduct: Conduct;
      readonly upTo: number;
    }
  /** Registers all workers; from then on they answer pings. */
  | { readonly do: 'register' }
  /** From now on each asks for work. Done when all have been answered for the first time. */
  | { readonly do: 'work' }
  | { readonly do: 'count' };

/** How a crowd stands. Numbers of things done are since its start. */
export interface Headcount {
  /** Workers whose channel is open. */
  readonly open: number;
  /** Of these, workers that have also been answered a claim since it was opened. */
  readonly back: number;
  readonly claims: number;
  readonly emptyClaims: number;
  readonly pongs: number;
  /** Requests that failed, and claims and reports that were answered otherwise than they should be. */
  readonly failures: number;
  readonly lastFailure: string | null;
  /** The ids of the runs that were taken, each as often as it was. */
  readonly taken: readonly string[];
}

/** An order on its way to the crowd's process, and its answer. The number says which belong together. */
export interface OrderMessage {
  readonly number: number;
  readonly order: Order;
}
export interface AnswerMessage {
  readonly number: number;
  readonly headcount?: Headcount;
  readonly error?: string;
}
