import { describe, expect, it } from '@jest/globals';
import { isConflict, isOutage, isUnstorableText, violatedConstraint } from './database-errors.ts';

const coded = (code: string, more: object = {}): Error => Object.assign(new Error(code), { code, ...more });

describe('a failure of the database', () => {
  it.each(['08006', '57P01', '57P03', '53300', 'ECONNREFUSED', 'ECONNRESET', 'EAI_AGAIN', 'ENOTFOUND'])(
    '%s means that it is away',
    (code) => {
      expect(isOutage(coded(code))).toBe(true);
      expect(isOutage(new Error('wrapped', { cause: coded(code) }))).toBe(true);
      expect(isOutage(new AggregateError([new Error('IPv6'), coded(code)]))).toBe(true);
    },
  );

  it.each([
    'Connection terminated unexpectedly',
    'timeout exceeded when trying to connect',
    'Client has encountered a connection error and is not queryable',
  ])('“%s” means that it is away', (message) => expect(isOutage(new Error(message))).toBe(true));

  it.each(['23505', '40001', '57014', '42P01', '22P05'])('%s does not', (code) =>
    expect(isOutage(coded(code))).toBe(false),
  );

  it('is a conflict where another try may help', () => {
    expect(isConflict(coded('40001'))).toBe(true);
    expect(isConflict(coded('40P01'))).toBe(true);
    expect(isConflict(coded('23505', { constraint: 'idempotency_key_pkey' }))).toBe(true);
    expect(isConflict(coded('23505', { constraint: 'run_pkey' }))).toBe(false);
  });

  it('names the constraint that a second row of one name violates', () => {
    expect(violatedConstraint(new Error('wrapped', { cause: coded('23505', { constraint: 'run_pkey' }) }))).toBe(
      'run_pkey',
    );
    expect(violatedConstraint(coded('23503', { constraint: 'run_fkey' }))).toBeUndefined();
  });

  it('may be about text that cannot be kept', () => {
    expect([
      isUnstorableText(coded('22021')),
      isUnstorableText(coded('22P05')),
      isUnstorableText(coded('22P02')),
    ]).toEqual([true, true, false]);
  });

  it('is none when something else was thrown', () => {
    for (const thrown of [undefined, null, 'ECONNREFUSED', { code: 'ECONNREFUSED' }]) {
      expect([isOutage(thrown), isConflict(thrown), isUnstorableText(thrown), violatedConstraint(thrown)]).toEqual([
        false,
        false,
        false,
        undefined,
      ]);
    }
  });
});
