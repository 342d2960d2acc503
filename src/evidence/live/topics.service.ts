import { Inject, Injectable } from '@nestjs/common';
import { AgentRegistry } from '../../agents/index.ts';
import { Approvals } from '../../gateway/index.ts';
import { RunLifecycle } from '../../runs/index.ts';
import { Fleet } from '../../workers/index.ts';
import { changedSince, type ChangingTopic } from './changes.store.ts';
import type { Topic } from './topics.policy.ts';

/** At most four events of an object a second; what is computed from many rows is looked at more rarely. */
const OFTEN_MS = 250;
const RARELY_MS = 1_000;

type Declared = Omit<Topic, 'name' | 'changedSince'>;

/** What can be heard of in lists. Adding a topic is adding it here and saying in `changes.store.ts` what has changed since a moment. */
@Injectable()
export class Topics {
  readonly byName: ReadonlyMap<string, Topic>;

  constructor(
    @Inject(AgentRegistry) agents: AgentRegistry,
    @Inject(Fleet) fleet: Fleet,
    @Inject(RunLifecycle) runs: RunLifecycle,
    @Inject(Approvals) approvals: Approvals,
  ) {
    const moves = ['run.grew', 'run.ended', 'run.cancelled', 'agent.work'] as const;
    const turns = ['channel.opened', 'worker.told'] as const;
    this.byName = new Map(
      Object.entries({
        agents: {
          ...{ capability: 'agent.read', everyMs: RARELY_MS, pokes: [...moves, ...turns], names: ['agent.work'] },
          ...{ mayVanish: false, restless: ['last_heartbeat_at', 'channel_seen_at', 'presence'] },
          views: (ctx, ids) => agents.views(ctx, ids),
        },
        workers: {
          ...{ capability: 'agent.read', everyMs: RARELY_MS, pokes: [...moves, ...turns], names: turns },
          ...{ mayVanish: true, restless: ['presence', 'last_at'] },
          views: (ctx, ids) => fleet.views(ctx, ids),
        },
        runs: {
          ...{ capability: 'run.read', everyMs: OFTEN_MS, pokes: moves, mayVanish: false, restless: [] },
          names: ['run.grew', 'run.ended', 'run.cancelled'],
          views: (ctx, ids) => runs.views(ctx, ids),
        },
        approvals: {
          ...{ capability: 'approval.read', everyMs: OFTEN_MS, mayVanish: false, restless: [] },
          ...{ pokes: ['approval.changed', 'run.ended'], names: ['approval.changed'] },
          views: (ctx, ids) => approvals.views(ctx, ids),
        },
      } satisfies Record<ChangingTopic, Declared>).map(([name, topic]) => [name, named(name as ChangingTopic, topic)]),
    );
  }
}

function named(name: ChangingTopic, topic: Declared): Topic {
  return {
    ...topic,
    name,
    changedSince: (ctx, since, whole, limit) => changedSince(ctx, name, since, { whole, limit }),
  };
}
