import { wireTime, type Clock } from '../../platform/clock/clock.ts';
import type { PokeTopic } from '../../platform/bus/keys.ts';
import type { Log } from '../../platform/log/log.ts';
import { describeError } from '../../platform/log/log.ts';
import type { OpContext } from '../../platform/operation/operation.ts';
import { nowOf } from './changes.store.ts';
import type { Change, Listener } from './listener.stream.ts';
import { MOST_CHANGES, signatureOf, type Topic } from './topics.policy.ts';

/** A transaction shows its rows some time after the moment that stands in them: so far each look goes back. */
const OVERLAP_MS = 10_000;
/** What was poked for is gathered for so long. */
const GATHER_MS = 20;
/** States that are remembered of one list. Of what is forgotten one change too many may be told. */
const MOST_SIGNATURES = 5_000;

interface State {
  readonly topic: Topic;
  /** The state that was told last, by object. */
  readonly signatures: Map<string, string>;
  /** Objects that somebody named since the last look. */
  named: Set<string>;
  isStale: boolean;
  /** By the database's clock. Undefined: nobody has looked yet. */
  lookedAt: Date | undefined;
  lookedMs: number;
}

interface Surroundings {
  readonly clock: Clock;
  readonly log: Log;
  /** What is told at once, in characters: more would put every reader over the limit for being behind. */
  readonly mostBytes: number;
}

/**
 * What changes in the lists of one account, told to all its readers on this replica. A poke says that something may have
 * changed; then the rows are asked what did, since the last look. So nothing depends on a poke: a look that comes anyway finds
 * what was missed. What is told is what an object's list shows now, once for any number of changes before.
 */
export class Feed {
  readonly listeners = new Set<Listener>();
  private readonly states = new Map<string, State>();
  private readonly clock: Clock;
  private readonly log: Log;
  private readonly mostBytes: number;
  private timer: NodeJS.Timeout | undefined;
  /** One look at a time: a state that was read earlier is never told after a later one. */
  private queue: Promise<unknown> = Promise.resolve();

  constructor(topics: Iterable<Topic>, { clock, log, mostBytes }: Surroundings) {
    this.clock = clock;
    this.log = log;
    this.mostBytes = mostBytes;
    for (const topic of topics)
      this.states.set(topic.name, {
        ...{ topic, signatures: new Map(), named: new Set(), isStale: false, lookedAt: undefined, lookedMs: 0 },
      });
  }

  /** Adds a reader and tells it what it has missed since `since`; undefined: to fetch its lists again. */
  async begin(listener: Listener, since: Date | undefined): Promise<void> {
    this.listeners.add(listener);
    await this.alone(async () => {
      for (const name of listener.lists) {
        const state = this.states.get(name);
        if (!state || listener.isOver) continue;
        await listener.ctx.briefly(async (inner) => {
          if (!state.lookedAt) await this.remember(inner, state);
          const missed = await missedSince(inner, state.topic, since, this.mostBytes);
          for (const change of missed) listener.tell(name, change);
        }, 'read');
      }
      this.advance(listener);
    });
  }

  end(listener: Listener): void {
    this.listeners.delete(listener);
    if (this.listeners.size === 0) clearTimeout(this.timer);
  }

  poked(poke: PokeTopic, id: string): void {
    for (const state of this.states.values()) {
      if (!state.topic.pokes.includes(poke)) continue;
      state.isStale = true;
      if (state.topic.names.includes(poke) && state.named.size < MOST_CHANGES * 2) state.named.add(id);
      this.schedule(state);
    }
  }

  /** Looks at everything, whatever was poked for. */
  lookAtAll(): Promise<void> {
    for (const state of this.states.values()) state.isStale = true;
    return this.look(true);
  }

  private schedule(state: State): void {
    const due = state.lookedMs + state.topic.everyMs - this.clock.monotonicMs();
    this.timer ??= setTimeout(
      () => {
        this.timer = undefined;
        void this.look(false);
      },
      Math.max(GATHER_MS, due),
    ).unref();
  }

  private look(whole: boolean): Promise<void> {
    return this.alone(async () => {
      for (const state of this.states.values()) {
        if (!state.isStale || !this.isWanted(state.topic.name)) continue;
        if (!whole && this.clock.monotonicMs() < state.lookedMs + state.topic.everyMs) this.schedule(state);
        else await this.lookAt(state, whole);
      }
      for (const listener of this.listeners) this.advance(listener);
    });
  }

  private async lookAt(state: State, whole: boolean): Promise<void> {
    const [listener] = this.listeners;
    if (!listener) return;
    const { named } = state;
    state.named = new Set();
    state.isStale = false;
    state.lookedMs = this.clock.monotonicMs();
    try {
      await listener.ctx.briefly((inner) => this.tellChanges(inner, state, named, whole), 'read');
    } catch (error) {
      for (const id of named) state.named.add(id);
      state.isStale = true; // the look that comes anyway finds it
      this.log.debug('nobody could look for changes', { topic: state.topic.name, error: describeError(error) });
    }
  }

  private async tellChanges(inner: OpContext, state: State, named: ReadonlySet<string>, whole: boolean): Promise<void> {
    const { topic, signatures } = state;
    const now = await nowOf(inner);
    const since = new Date((state.lookedAt ?? now).getTime() - OVERLAP_MS);
    const changed = await topic.changedSince(inner, since, whole, MOST_CHANGES + 1);
    const ids = new Set([...named, ...changed, ...(whole && topic.mayVanish ? signatures.keys() : [])]);
    const at = wireTime(now);
    if (changed.length > MOST_CHANGES || named.size > MOST_CHANGES) {
      signatures.clear();
      this.tell(resetOf(topic, at));
    } else {
      const views = await topic.views(inner, [...ids]);
      const changes = [...ids].flatMap((id) => changeOf(state, id, views.get(id), at) ?? []);
      const bytes = changes.reduce((sum, { id }) => sum + (signatures.get(id ?? '')?.length ?? 0), 0);
      for (const change of bytes > this.mostBytes ? [resetOf(topic, at)] : changes) this.tell(change);
    }
    forgetOldest(signatures);
    state.lookedAt = now;
  }

  /** How things stand before anything is told. */
  private async remember(inner: OpContext, state: State): Promise<void> {
    const { topic, signatures } = state;
    const now = await nowOf(inner);
    const ids = await topic.changedSince(inner, new Date(now.getTime() - OVERLAP_MS), true, MOST_CHANGES);
    for (const [id, view] of await topic.views(inner, ids)) signatures.set(id, signatureOf(view, topic.restless));
    state.lookedAt = now;
  }

  private tell(change: Change): void {
    for (const listener of this.listeners) if (listener.lists.has(change.topic)) listener.tell(change.topic, change);
  }

  private advance(listener: Listener): void {
    const looked = [...listener.lists].map((name) => this.states.get(name)?.lookedAt?.getTime() ?? 0);
    if (looked.length > 0) listener.advance(new Date(Math.min(...looked)));
  }

  private isWanted(name: string): boolean {
    return [...this.listeners].some(({ lists }) => lists.has(name));
  }

  private alone(work: () => Promise<void>): Promise<void> {
    const done = this.queue.then(work);
    this.queue = done.catch(() => {});
    return done;
  }
}

/** Undefined where the reader knows it as it is. */
function changeOf(
  { topic, signatures }: Pick<State, 'topic' | 'signatures'>,
  id: string,
  view: object | undefined,
  at: string,
): Change | undefined {
  const before = signatures.get(id);
  signatures.delete(id); // and again at the end: what is oldest goes first
  if (!view) return before === undefined ? undefined : { topic: topic.name, kind: 'removed', id, at };
  const signature = signatureOf(view, topic.restless);
  signatures.set(id, signature);
  return before === signature ? undefined : { topic: topic.name, kind: 'changed', id, at, view };
}

function forgetOldest(signatures: Map<string, string>): void {
  for (const id of signatures.keys()) {
    if (signatures.size <= MOST_SIGNATURES) return;
    signatures.delete(id);
  }
}

/** Everything that may have changed, as it is now; a reset where that is too much, or nobody knows since when. */
async function missedSince(
  inner: OpContext,
  topic: Topic,
  since: Date | undefined,
  mostBytes: number,
): Promise<Change[]> {
  const at = wireTime(await nowOf(inner));
  const from = since && new Date(since.getTime() - OVERLAP_MS);
  const ids = from && (await topic.changedSince(inner, from, true, MOST_CHANGES + 1));
  if (!ids || ids.length > MOST_CHANGES) return [resetOf(topic, at)];
  const views = [...(await topic.views(inner, ids))];
  const bytes = views.reduce((sum, [, view]) => sum + JSON.stringify(view).length, 0);
  if (bytes > mostBytes) return [resetOf(topic, at)];
  return views.map(([id, view]) => ({ topic: topic.name, kind: 'changed', id, at, view }));
}

function resetOf({ name }: Topic, at: string): Change {
  return { topic: name, kind: 'reset', id: null, at };
}
