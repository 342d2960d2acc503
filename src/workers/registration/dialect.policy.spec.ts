import { describe, expect, it } from '@jest/globals';
import { dialectOf, offersOf, slotsOf } from './dialect.policy.ts';

const USE_CASES = { agent_card: { use_cases: [{ slug: 'sample_run' }] } };

describe('the dialect of a worker', () => {
  it.each([
    ['0.1.x says no protocol version', { sdk_version: 'v1+0123456789ab' }, '0.1'],
    ['0.1.x may say null', { wire_protocol_version: null }, '0.1'],
    ['0.2.0 has no use cases', { wire_protocol_version: 2, agent_card: { name: 'x' } }, '0.2'],
    ['0.3.0 has use cases and no version', { wire_protocol_version: 2, ...USE_CASES }, '0.3'],
    [
      '0.3.0 may name tag and commit',
      { wire_protocol_version: 2, ...USE_CASES, sdk_version: 'v1.2+0123456789ab' },
      '0.3',
    ],
    ['0.3.5 and later name their version', { wire_protocol_version: 2, ...USE_CASES, sdk_version: '0.3.5' }, '0.3'],
    ['0.4.13 does too', { wire_protocol_version: 2, ...USE_CASES, sdk_version: '0.4.13' }, '0.3'],
    ['a version says enough without use cases', { wire_protocol_version: 2, sdk_version: '1.0.0' }, '0.3'],
    [
      'a worker of ours has use cases and no version',
      { wire_protocol_version: 2, ...USE_CASES, max_concurrent: 4 },
      '0.3',
    ],
    ['our library names itself', { wire_protocol_version: 2, sdk_version: 'signalbox-worker/0.1.0' }, '0.3'],
    ['nobody else is our library', { wire_protocol_version: 2, sdk_version: 'my-signalbox-worker/0.1.0' }, '0.2'],
    [
      'an unknown version is the most fragile',
      { wire_protocol_version: 2, ...USE_CASES, sdk_version: 'nightly' },
      '0.2',
    ],
    ['an unknown protocol too', { wire_protocol_version: 3, ...USE_CASES, sdk_version: '0.4.13' }, '0.2'],
    ['an empty manifest is 0.1.x', {}, '0.1'],
  ])('%s', (_fact, manifest, dialect) => {
    expect(dialectOf(manifest)).toBe(dialect);
  });

  it.each([
    [undefined, {}, 1],
    [null, {}, 1],
    [3, {}, 3],
    [undefined, { max_concurrent: 4 }, 4],
    [2, { max_concurrent: 4 }, 2],
    [undefined, { max_concurrent: 0 }, 1],
    [undefined, { max_concurrent: '4' }, 1],
    [undefined, { max_concurrent: 2.5 }, 1],
    [1_000_000, {}, 100],
  ])('has as many slots as it says, within reason: frame %p, manifest %p', (inFrame, manifest, slots) => {
    expect(slotsOf(inFrame, manifest)).toBe(slots);
  });
});

describe('what a worker offers', () => {
  const NOTHING = { version: 'dev', labels: {}, canReplay: false };
  it.each([
    ['nothing is said', {}, NOTHING],
    ['nothing is meant', { version: '', labels: null, agent_card: { capabilities: { replay: [] } } }, NOTHING],
    ['nonsense is said', { version: 7, labels: ['gpu'], agent_card: { capabilities: { replay: 'all' } } }, NOTHING],
    ['a version', { version: '1.4.0' }, { ...NOTHING, version: '1.4.0' }],
    [
      'labels, of which only text counts',
      { labels: { zone: 'eu', gpu: true, cores: 4, tier: '' } },
      { ...NOTHING, labels: { zone: 'eu', tier: '' } },
    ],
    [
      'what it answers from a recording',
      { agent_card: { capabilities: { replay: ['every_tool'] } } },
      { ...NOTHING, canReplay: true },
    ],
  ])('when %s', (_fact, manifest, offers) => {
    expect(offersOf(manifest)).toEqual(offers);
  });
});
