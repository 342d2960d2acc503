import { describe, expect, it } from '@jest/globals';
import { ACTIONS, askedBy, canBeTold, frameOf, modeAfter, type Hearer } from './actions.policy.ts';

describe('an action on a worker', () => {
  it('Q-15: changes what is handed out, or goes to the worker, never both', () => {
    expect(ACTIONS.map((action) => [action, modeAfter(action)])).toEqual([
      ['drain_restart', undefined],
      ['drain', 'draining'],
      ['pause', 'paused'],
      ['resume', 'normal'],
      ['lame_duck', 'lame_duck'],
      ['health_check', undefined],
      ['ping', undefined],
    ]);
  });

  it.each<[Hearer['dialect'], string | null, boolean]>([
    ['0.3', '0.4.13', true],
    ['0.3', '0.3.5', true],
    ['0.3', '0.3.30', true],
    ['0.3', '1.0.0', true],
    ['0.3', '0.3.4', false],
    ['0.3', '0.3.0', false],
    ['0.3', 'v1.2+0123456789ab', false],
    ['0.3', null, false],
    ['0.3', 'signalbox-worker/0.1.0', true],
    ['0.2', '0.4.13', false],
    ['0.1', '0.1.1', false],
  ])('dialect %s, SDK %s knows drain_restart: %s', (dialect, sdk_version, expected) => {
    expect(canBeTold('drain_restart', { dialect, sdk_version })).toBe(expected);
  });

  it.each([
    ['0.1', false],
    ['0.2', true],
    ['0.3', true],
  ] as const)('dialect %s answers pings and questions about health: %s', (dialect, expected) => {
    expect(canBeTold('ping', { dialect, sdk_version: null })).toBe(expected);
    expect(canBeTold('health_check', { dialect, sdk_version: null })).toBe(expected);
  });

  it('goes out as a frame with its own id, so that the reply says what it answers', () => {
    const open = { id: 'act_1', params: { grace: 5 }, micros: '1700000000000000' };
    expect(frameOf({ ...open, action: 'drain_restart' })).toEqual({
      id: 'act_1',
      type: 'worker_action',
      needsReply: true,
      payload: { action_id: 'act_1', action: 'drain_restart', params: { grace: 5 } },
    });
    expect(frameOf({ ...open, action: 'health_check' })).toMatchObject({ type: 'health_check', payload: {} });
    const { payload } = frameOf({ ...open, action: 'ping' });
    expect(askedBy(String(payload['nonce']))).toEqual({ id: 'act_1', micros: '1700000000000000' });
  });

  it.each(['rep_1.7', 'act_1', 'act_1.', 'act_1.x', 'act_1.12345678901234567', 'x act_1.7', ''])(
    'a pong of %j answers no action',
    (nonce) => {
      expect(askedBy(nonce)).toBeUndefined();
    },
  );
});
