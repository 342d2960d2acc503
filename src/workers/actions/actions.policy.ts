import type { ChannelFrame } from '../channel/channel.stream.ts';
import type { Mode } from '../fleet/lights.policy.ts';
import { isSince, type Dialect } from '../registration/dialect.policy.ts';

export const ACTIONS = ['drain_restart', 'drain', 'pause', 'resume', 'lame_duck', 'health_check', 'ping'] as const;
export type Action = (typeof ACTIONS)[number];
/** These need a worker that hears them. */
export type ToldAction = 'drain_restart' | 'health_check' | 'ping';

const MODES = { drain: 'draining', pause: 'paused', resume: 'normal', lame_duck: 'lame_duck' } as const;

/** The mode that an action puts the worker into, at our side alone; undefined for what the worker must be told. */
export function modeAfter(action: Action): Mode | undefined {
  return (MODES as Partial<Record<Action, Mode>>)[action];
}

/** The first release that is known to take `worker_action`; those just before it cannot be told apart. */
const FIRST_RESTARTED = [0, 3, 5] as const;

export interface Hearer {
  readonly dialect: Dialect;
  readonly sdk_version: string | null;
}

/** Whether the worker's program knows what it would be told. */
export function canBeTold(action: ToldAction, hearer: Hearer): boolean {
  return action === 'drain_restart' ? isSince(FIRST_RESTARTED, hearer) : hearer.dialect !== '0.1';
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
