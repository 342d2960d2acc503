import { describe, expect, it } from '@jest/globals';
import { FAULT_KINDS, Fault, declaredFaults, fault, invalid, invariant } from './faults.ts';

describe('a fault', () => {
  it('has the status of its kind, and its own sentence unless the caller is told more', () => {
    const Lost = fault('test.lost', 'not_found', 'It is not there');
    expect(Lost()).toMatchObject({ code: 'test.lost', status: 404, message: 'It is not there' });
    expect(Lost({ message: 'The thing x is not there' }).message).toBe('The thing x is not there');
    expect(Lost()).toBeInstanceOf(Fault);
  });

  it('is declared once', () => {
    fault('test.once', 'conflict', 'Once');
    expect(() => fault('test.once', 'conflict', 'Twice')).toThrow('Two faults are called test.once');
  });

  it('says when another try may help, exactly where clients wait for it', () => {
    for (const kind of Object.keys(FAULT_KINDS) as (keyof typeof FAULT_KINDS)[]) {
      const type = fault(`test.kind_${kind}`, kind, 'A test');
      const mayWait = kind === 'unavailable' || kind === 'limited';
      expect(type().retryAfterSeconds).toBe(mayWait ? 2 : undefined);
      expect(type({ retryAfterSeconds: 60 }).retryAfterSeconds).toBe(mayWait ? 60 : undefined);
    }
  });

  it('about an input names the place', () => {
    expect(invalid(['body', 'size'], 'too big')).toMatchObject({
      status: 422,
      problems: [{ loc: ['body', 'size'], msg: 'too big', type: 'value_error' }],
    });
  });
});

it('every declared fault has a code of its room or area, and a sentence', () => {
  for (const { code, sentence } of declaredFaults()) {
    expect(code).toMatch(/^[a-z_]+(\.[a-z_]+)?$/);
    expect(sentence).not.toBe('');
  }
});

it('a broken invariant is an error of ours, not a fault', () => {
  expect(() => invariant(true, 'fine')).not.toThrow();
  expect(() => invariant(0, 'there is one')).toThrow('Invariant broken: there is one');
});
