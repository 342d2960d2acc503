import { describe, expect, it } from '@jest/globals';
import { openedBy } from '../../platform/outbound/address.policy.ts';
import { directExclusion, directResult, isDialable, type DirectFacts } from './direct.policy.ts';

const OPENED = openedBy(['10.1.0.0/16']);
const PUBLIC = 'https://worker.example';

function facts(
  endpoint_url: string | null,
  direct_outcome: DirectFacts['direct_outcome'] = null,
  direct_said: string | null = null,
): DirectFacts {
  return { endpoint_url, direct_outcome, direct_said };
}

describe('a worker that gives an address', () => {
  it.each<[string, DirectFacts, readonly [mayBeCalled: boolean, canBeDialled: boolean, result: string | null]]>([
    ['none', facts(null), [false, false, null]],
    ['one that was never called', facts(PUBLIC), [true, true, null]],
    ['one that the operator opened', facts('http://10.1.0.7:8010'), [true, true, null]],
    ['one that answered', facts(PUBLIC, 'answered'), [true, true, 'answered']],
    ['one whose answer was lost', facts(PUBLIC, 'lost', 'it hung up'), [true, true, 'lost: it hung up']],
    ['one that refused', facts(PUBLIC, 'unsent', 'refused'), [true, false, 'unsent: refused']],
    ['one whose name may not be called', facts(PUBLIC, 'excluded', 'private'), [false, false, 'excluded: private']],
    [
      'one that is not public',
      facts('https://10.2.0.1', 'answered'),
      [false, false, 'excluded: 10.2.0.1 is no public address (private)'],
    ],
    ['what is none', facts('nonsense'), [false, false, 'excluded: it is no absolute URL']],
  ])('%s', (_what, given, [mayBeCalled, canBeDialled, result]) => {
    expect(directExclusion(given, OPENED) === undefined).toBe(mayBeCalled);
    expect(isDialable(given, OPENED)).toBe(canBeDialled);
    expect(directResult(given, OPENED)).toBe(result);
  });
});
