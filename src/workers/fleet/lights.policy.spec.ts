import { describe, expect, it } from '@jest/globals';
import {
  exclusionOf,
  isAssignable,
  isDarkAfter,
  lightsOf,
  type Candidate,
  type Exclusion,
  type LightState,
  type Lights,
  type Signs,
} from './lights.policy.ts';

const NOW = Date.parse('2026-03-01T12:00:00.000Z');
const WINDOWS = { presenceSeconds: 90, claimSeconds: 25, pingSeconds: 5 };

/** So many seconds ago. */
const ago = (seconds: number): Date => new Date(NOW - seconds * 1_000);

/** A worker of which everything is as it should be. */
const WELL: Signs = {
  now: ago(0),
  registeredAt: ago(600),
  lastSeenAt: ago(1),
  lastClaimAt: ago(1),
  lastPongAt: ago(1),
  hearsPings: true,
  lastEventsAt: null,
  channelOpenedAt: ago(600),
  channelClosedAt: null,
  channelClosedBy: null,
  slots: 1,
  slotsTaken: 0,
  runningSince: null,
};

function states(signs: Partial<Signs>): Record<keyof Lights, LightState> {
  const { process, channel, claim, events } = lightsOf({ ...WELL, ...signs }, WINDOWS);
  return { process: process.state, channel: channel.state, claim: claim.state, events: events.state };
}

const ALL_WELL = { process: 'ok', channel: 'ok', claim: 'ok', events: 'unused' };

describe('the lights of a worker', () => {
  it.each<[string, Partial<Signs>, Partial<Record<keyof Lights, LightState>>]>([
    ['everything is as it should be', {}, {}],
    ['it was heard just inside the window', { lastSeenAt: ago(89.9) }, {}],
    ['it was heard a whole window ago', { lastSeenAt: ago(90) }, { process: 'down' }],

    ['it never opened a channel', { channelOpenedAt: null, lastPongAt: null }, { channel: 'down' }],
    ['its channel was closed', { channelClosedAt: ago(3), channelClosedBy: 'worker' }, { channel: 'down' }],
    ['its channel was closed and opened again', { channelClosedAt: ago(700) }, {}],
    ['no ping of this channel was answered yet', { lastPongAt: null }, { channel: 'unknown' }],
    [
      'only the channel before answered pings',
      { channelOpenedAt: ago(3), lastPongAt: ago(10) },
      { channel: 'unknown' },
    ],
    ['the newest pong may be on its way', { lastPongAt: ago(12) }, {}],
    ['two pings were not answered', { lastPongAt: ago(12.1) }, { channel: 'stale' }],
    ['the socket is half-open for 20 s', { lastPongAt: ago(20) }, { channel: 'stale' }],
    ['and for longer', { lastPongAt: ago(20.1) }, { channel: 'down' }],

    ['it claimed just inside the window', { lastClaimAt: ago(24.9) }, {}],
    ['it claimed a whole window ago', { lastClaimAt: ago(25) }, { claim: 'stale' }],
    ['it never claimed', { lastClaimAt: null }, { claim: 'down' }],
    ['only the process before claimed', { lastClaimAt: ago(601) }, { claim: 'down' }],
    ['it does not claim because its slot is taken', { lastClaimAt: ago(100), slotsTaken: 1 }, {}],
    [
      'one of two slots is free and it does not claim',
      { lastClaimAt: ago(100), slots: 2, slotsTaken: 1 },
      { claim: 'stale' },
    ],

    ['its run has just begun', { runningSince: ago(5) }, { events: 'unknown' }],
    ['its run began 60 s ago and is silent', { runningSince: ago(60) }, { events: 'unknown' }],
    ['and for longer', { runningSince: ago(60.1) }, { events: 'stale' }],
    ['events of its run came', { runningSince: ago(100), lastEventsAt: ago(60) }, { events: 'ok' }],
    ['events of its run came and stopped', { runningSince: ago(100), lastEventsAt: ago(60.1) }, { events: 'stale' }],
    ['only the run before said something', { runningSince: ago(5), lastEventsAt: ago(6) }, { events: 'unknown' }],
    ['events came and no run runs', { lastEventsAt: ago(600) }, {}],
  ])('K-28: when %s, only the light that goes by it changes', (_situation, signs, changed) => {
    expect(states(signs)).toEqual({ ...ALL_WELL, ...changed });
  });

  it('K-28: each broken light says why and since when, and the lit ones say nothing', () => {
    const lights = lightsOf(
      {
        ...WELL,
        lastSeenAt: ago(100),
        lastClaimAt: ago(40),
        channelClosedAt: ago(30),
        channelClosedBy: 'us',
        runningSince: null,
      },
      WINDOWS,
    );
    expect(lights.process).toEqual({
      state: 'down',
      since: ago(10),
      lastAt: ago(100),
      why: 'nothing was heard of it for 90 s',
    });
    expect(lights.channel).toMatchObject({ since: ago(30), why: 'its channel was closed by the control plane' });
    expect(lights.claim).toMatchObject({ since: ago(15), lastAt: ago(40), why: 'it has not asked for work for 25 s' });
    expect(lightsOf(WELL, WINDOWS).process).toEqual({ state: 'ok', since: ago(600), lastAt: ago(1), why: null });
  });

  it.each([
    [5, 20, false],
    [5, 20.1, true],
    [0.1, 10, false],
    [0.1, 10.1, true],
    [45, 180, false],
  ])('a channel pinged every %d s is dark %d s after its last pong: %s', (pingSeconds, seconds, expected) => {
    expect(isDarkAfter(seconds, pingSeconds)).toBe(expected);
  });
});

describe('which rule keeps runs from a worker', () => {
  /** Each signs of life that differ, and what else does. */
  type Situation = readonly [signs: Partial<Signs>, standing: Partial<Candidate>];
  const of = ([signs, standing]: Situation): Candidate => ({
    ...{ lost: null, isTokenValid: true, mode: 'normal', modeSince: null, isDialable: false, busySince: null },
    lights: lightsOf({ ...WELL, ...signs }, WINDOWS),
    ...standing,
  });
  const excluded = (code: Exclusion['code'], since: Date | null, isEligible = false) => ({ code, since, isEligible });
  const lost = { at: ago(7), rule: 'closed_by_worker' };
  const busy = { busySince: ago(30) };
  const as = (mode: Candidate['mode']): Partial<Candidate> => ({ mode, modeSince: ago(40) });
  const yes = true;
  const no = false;

  it.each<[string, Situation, Exclusion | null, boolean]>([
    ['everything is fine', [{}, {}], null, yes],
    ['it is offline', [{ lastSeenAt: ago(91) }, {}], excluded('worker.offline', ago(1)), no],
    ['it is lost, though it was just heard', [{}, { lost }], excluded('worker.offline', ago(7)), no],
    ['its token is dead', [{}, { isTokenValid: false }], excluded('worker.token_revoked', null), no],
    ['it does not claim', [{ lastClaimAt: ago(26) }, {}], excluded('worker.not_claiming', ago(1)), no],
    ['it never claimed', [{ lastClaimAt: null }, {}], excluded('worker.not_claiming', ago(600)), no],
    ['it never claimed, and is dialled', [{ lastClaimAt: null }, { isDialable: yes }], null, yes],
    [
      'it is dialled, and paused',
      [{ lastClaimAt: null }, { isDialable: yes, ...as('paused') }],
      excluded('worker.paused', ago(40)),
      no,
    ],
    [
      'it is dialled, and busy',
      [{ lastClaimAt: null }, { isDialable: yes, ...busy }],
      excluded('worker.busy', ago(30)),
      yes,
    ],
    ['it is busy', [{}, busy], excluded('worker.busy', ago(30)), yes],
    ['it is paused', [{}, as('paused')], excluded('worker.paused', ago(40)), no],
    ['it is paused and busy', [{}, { ...as('paused'), ...busy }], excluded('worker.paused', ago(40)), no],
    [
      'it drains, so does not claim',
      [{ lastClaimAt: ago(60) }, as('draining')],
      excluded('worker.draining', ago(40)),
      no,
    ],
    ['it drains and is offline', [{ lastSeenAt: ago(91) }, as('draining')], excluded('worker.offline', ago(1)), no],
    ['it is a lame duck', [{}, as('lame_duck')], excluded('worker.lame_duck', ago(40)), no],
    ['it is a busy lame duck', [{}, { ...as('lame_duck'), ...busy }], excluded('worker.busy', ago(30)), no],
    ['its channel is dark', [{ lastPongAt: ago(100) }, {}], excluded('worker.channel_stale', ago(95), true), yes],
    ['its channel only hiccups', [{ lastPongAt: ago(15) }, {}], null, yes],
  ])('F-33: when %s', (_situation, situation, exclusion, assignable) => {
    const candidate = of(situation);
    expect(exclusionOf(candidate)).toEqual(exclusion);
    expect(isAssignable(candidate)).toBe(assignable);
  });
});
