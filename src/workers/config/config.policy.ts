import type { ChannelFrame } from '../channel/channel.stream.ts';
import { isSince } from '../registration/dialect.policy.ts';
import type { OutdatedWorker } from './config.store.ts';

/** The first release that is known to take `config_changed`; those just before it cannot be told apart. */
const FIRST_CONFIGURED = [0, 3, 5] as const;

/** Whether the worker's program knows what it would be told. */
export function hearsOfConfig(worker: Pick<OutdatedWorker, 'dialect' | 'sdk_version'>): boolean {
  return isSince(FIRST_CONFIGURED, worker);
}

/** What goes down the channel: the three versions in force, and no content. */
export function changedFrame(frameId: string, worker: OutdatedWorker): ChannelFrame {
  const { version, skills_version, action_rules_version } = worker;
  return { id: frameId, type: 'config_changed', payload: { version, skills_version, action_rules_version } };
}

/** What a channel is told once. */
export function tokenOf({ version, skills_version, action_rules_version }: OutdatedWorker): string {
  return `config ${version} ${skills_version} ${action_rules_version}`;
}
