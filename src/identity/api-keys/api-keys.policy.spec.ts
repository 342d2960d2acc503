import { describe, expect, it } from '@jest/globals';
import { SCOPE_FORM, areScopesWithin, readMoment } from './api-keys.policy.ts';

describe('scopes of a key', () => {
  it.each(['runs:read', 'triggers:write', 'api_keys:read'])('%s has the form', (scope) => {
    expect(scope).toMatch(SCOPE_FORM);
  });

  it.each(['', 'runs', 'runs:', ':read', 'runs:admin', 'Runs:read', 'runs:read ', 'runs:read:write', '*', 'runs:*'])(
    '%j has not',
    (scope) => {
      expect(scope).not.toMatch(SCOPE_FORM);
    },
  );

  it.each([
    { held: [], wanted: [], within: true },
    { held: [], wanted: ['runs:write'], within: true },
    { held: ['runs:read'], wanted: [], within: false },
    { held: ['runs:read'], wanted: ['runs:read'], within: true },
    { held: ['runs:read'], wanted: ['runs:write'], within: false },
    { held: ['runs:write'], wanted: ['runs:read'], within: true },
    { held: ['runs:write'], wanted: ['runs:read', 'agents:read'], within: false },
    { held: ['runs:write', 'agents:read'], wanted: ['runs:read', 'agents:read'], within: true },
  ])('a caller narrowed to $held may hand out $wanted: $within', ({ held, wanted, within }) => {
    expect(areScopesWithin(wanted, held)).toBe(within);
  });
});

describe('the end of a key', () => {
  it.each([
    ['2030-01-02T03:04:05Z', '2030-01-02T03:04:05.000Z'],
    ['2030-01-02t03:04:05.123456z', '2030-01-02T03:04:05.123Z'],
    ['2030-01-02T03:04:05+02:30', '2030-01-02T00:34:05.000Z'],
    ['2024-02-29T00:00:00Z', '2024-02-29T00:00:00.000Z'],
    ['1999-12-31T23:59:59-00:00', '1999-12-31T23:59:59.000Z'],
  ])('%s is a moment', (text, moment) => {
    expect(readMoment(text)?.toISOString()).toBe(moment);
  });

  it.each([
    '',
    'tomorrow',
    '2030-01-02',
    '2030-01-02T03:04Z',
    '2030-01-02T03:04:05',
    '2030-01-02 03:04:05Z',
    '2030-02-30T00:00:00Z',
    '2023-02-29T00:00:00Z',
    '2030-13-01T00:00:00Z',
    '2030-00-01T00:00:00Z',
    '2030-01-02T24:00:00Z',
    '2030-01-02T03:04:05+25:00',
    '1893553445',
  ])('%j is none', (text) => {
    expect(readMoment(text)).toBeUndefined();
  });
});
