import { describe, expect, it } from '@jest/globals';
import { endpointFlaw, endpointOf, withoutLogin } from './endpoint.policy.ts';

describe('the address of a worker', () => {
  it.each([
    ['is absent', {}, null, null],
    ['is null', { endpoint_url: null }, null, null],
    ['is empty, as of a worker bound to every address', { endpoint_url: '' }, null, null],
    ['is an address', { endpoint_url: 'http://10.0.0.1:8010' }, 'http://10.0.0.1:8010', null],
    ['is any text', { endpoint_url: 'file:///etc/passwd ' }, 'file:///etc/passwd ', null],
    ['is half of a character', { endpoint_url: 'http://\ud800' }, 'http://\ufffd', null],
    ['is as long as may be', { endpoint_url: 'x'.repeat(2_000) }, 'x'.repeat(2_000), null],
    ['is longer', { endpoint_url: 'x'.repeat(2_001) }, null, 'its address is longer than 2000 characters'],
    ['is a number', { endpoint_url: 8010 }, null, 'its address is no text'],
    ['is an object', { endpoint_url: { host: 'a' } }, null, 'its address is no text'],
  ])('%s', (_fact, manifest, kept, flaw) => {
    expect(endpointOf(manifest)).toBe(kept);
    expect(endpointFlaw(manifest)).toBe(flaw);
  });

  it.each([
    ['http://user:hush@host:8010/a?b', 'http://***@host:8010/a?b'],
    ['https://token@host', 'https://***@host/'],
    ['https://:hush@host', 'https://***@host/'],
    ['https://host/@user:not', 'https://host/@user:not'],
    ['no address at all', 'no address at all'],
    [8010, 8010],
  ])('%s is known without a password, as %s', (said, kept) => {
    expect(withoutLogin({ name: 'a', endpoint_url: said })).toEqual({ name: 'a', endpoint_url: kept });
  });
});
