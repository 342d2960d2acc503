import { describe, expect, it } from '@jest/globals';
import { secretsOf, takesMaps, textsOf } from './secrets.policy.ts';

describe('A12: a client takes values with parts', () => {
  it.each(['0.3.15', '0.3.16', '0.3.30', '0.4.0', '0.4.13', '0.10.0', '1.0.0'])('as %s', (version) => {
    expect(takesMaps(version)).toBe(true);
  });

  it.each(['0.3.14', '0.3.0', '0.3.2', '0.2.99', '0.2.0', '0.1.1', '', 'latest', 'v0.4.13', '0.4', '0.4.13+1', null])(
    'not as %j',
    (version) => {
      expect(takesMaps(version)).toBe(false);
    },
  );
});

describe('worker-protocol §23.20: the secrets of a job', () => {
  const values = [
    { name: 'api-key', value: 'k' },
    { name: 'db-creds', value: '{"user-name":"u","pass":"p","empty":""}' },
  ];

  it('are texts and maps for a client that takes maps, without empty parts', () => {
    expect(secretsOf(values, true)).toEqual({ 'api-key': 'k', 'db-creds': { 'user-name': 'u', pass: 'p' } });
  });

  it('are texts only for one that does not, under the names that newer ones put into the environment', () => {
    expect(secretsOf(values, false)).toEqual({ 'api-key': 'k', DB_CREDS__USER_NAME: 'u', DB_CREDS__PASS: 'p' });
  });

  it('turn up as their texts: each part, and the whole as it was stored', () => {
    expect(textsOf('k')).toEqual(['k']);
    expect(textsOf('{"a":"x","b":""}')).toEqual(['{"a":"x","b":""}', 'x']);
  });
});
