import type { ChannelFrame } from '../channel/channel.stream.ts';
import type { Mode } from '../fleet/lights.policy.ts';
import type { Dialect } from '../registration/dialect.policy.ts';

export const ACTIONS = ['drain_restart', 'drain', 'pause', 'resume', 'lame_duck', 'health_check', 'ping'] as const;
export type Action = (typeof ACTIONS)[number];
/** These need a worker that hears them. */
export type ToldAction = 'drain_restart' | 'health_check' | 'ping';

const MODES = { drain: 'draining', pause: 'paused', resume: 'normal', lame_duck: 'lame_duck' } as const;

/** The mode that an action puts the worker into, at our side alone; undefined for what the worker must be told. */
export function modeAfter(action: Action): Mode | undefined {
  return (MODES as Partial<Record<Action, Mode>>)[action];
}

const RELEASE = /^(\d+)\.(\d+)\.(\d+)$/;
/** The first release that is known to take `worker_action`; those just before it cannot be told apart. */
const FIRST_RESTARTED = [0, 3, 5] as const;

export interface Hearer {
  readonly dialect: Dialect;
  readonly sdk_version: string | null;
}

/** Whether the worker's program knows what it would be told. A worker without an SDK version promises nothing. */
export function canBeTold(action: ToldAction, { dialect, sdk_version: version }: Hearer): boolean {
  if (action !== 'drain_restart') return dialect !== '0.1';
  const parts = RELEASE.exec(version ?? '')
    ?.slice(1)
    .map(Number);
  if (dialect !== '0.3' || !parts) return false;
  const differs = parts.findIndex((part, place) => part !== FIRST_RESTARTED[place]);
  return differs < 0 || (parts[differs] ?? 0) > (FIRST_RESTARTED[differs] ?? 0);
}

export interface OpenAction {
  readonly id: string;
  readonly action: ToldAction;
  readonly params: Readonly<Record<string, unknown>>;
  /** The database's clock when it was read, in microseconds since 1970. */
  readonly micros: string;
}

/** What goes down the channel. The frame's id is the action's, so that a reply says by itself what it answers. */
export function frameOf({ id, action, params, micros }: OpenAction): ChannelFrame {
  const ask = { id, needsReply: true };
  if (action === 'ping') return { ...ask, type: 'ping', payload: { nonce: `${id}.${micros}` } };
  if (action === 'health_check') return { ...ask, type: 'health_check', payload: {} };
  return { ...ask, type: 'worker_action', payload: { action_id: id, action, params } };
}

const NONCE = /^(act_[0-9a-z]{1,64})\.(\d{1,16})$/;

/** The action that a pong answers, and when its ping left; undefined for every other pong. */
export function askedBy(nonce: string): { readonly id: string; readonly micros: string } | undefined {
  const [, id, micros] = NONCE.exec(nonce) ?? [];
  return id !== undefined && micros !== undefined ? { id, micros } : undefined;
}
