import type { Capability, OpContext } from '../../platform/operation/operation.ts';
import type { PokeTopic } from '../../platform/bus/keys.ts';

/** As many may be heard in one stream. */
export const MOST_TOPICS = 50;
/** How many objects are told at once. Where more have changed, a reader is better off with the list. */
export const MOST_CHANGES = 500;

/** One kind of object whose changes are told. Adding a topic is adding one of these to the list of them. */
export interface Topic {
  readonly name: string;
  readonly capability: Capability;
  /** At most so often an object of it is told. */
  readonly everyMs: number;
  /** After these something may have changed. Those in `names` say which object. */
  readonly pokes: readonly PokeTopic[];
  readonly names: readonly PokeTopic[];
  /** Whether objects of it may go without a trace, so that those which are known are looked for. */
  readonly mayVanish: boolean;
  /** What of a view changes all the time and means nothing by itself. */
  readonly restless: readonly string[];
  /** Objects in the form of their list, by id. What is not among them is gone. */
  views(ctx: OpContext, ids: readonly string[]): Promise<ReadonlyMap<string, object>>;
  /** Which may have changed after a moment of the database's clock, at most `limit`; `whole` looks at what moves all the time, too. */
  changedSince(ctx: OpContext, since: Date, whole: boolean, limit: number): Promise<readonly string[]>;
}

/** What a reader asked for, one entry each. */
export type Wish = { readonly kind: 'list'; readonly name: string } | { readonly kind: 'run'; readonly runId: string };

/** The topics of a query, in their order, each once. */
export function wishesOf(text: string): Wish[] {
  const names = new Set(
    text
      .split(',')
      .map((name) => name.trim())
      .filter((name) => name !== ''),
  );
  return [...names].map((name) =>
    name.startsWith('run:') ? { kind: 'run', runId: name.slice('run:'.length) } : { kind: 'list', name },
  );
}

/** How a wish is called in events. */
export function topicOf(wish: Wish): string {
  return wish.kind === 'run' ? `run:${wish.runId}` : wish.name;
}

/** What makes two states of an object the same to a reader: its view without what is restless, at any depth. */
export function signatureOf(view: object, restless: readonly string[]): string {
  const left = new Set(restless);
  return JSON.stringify(view, (name, value: unknown) => (left.has(name) ? undefined : value));
}
