import { describe, expect, it } from '@jest/globals';
import { readOptions } from './options.ts';
import type { Row } from './row.ts';

const row = (id: string, inShortForm: boolean): Row => ({
  id,
  work: id,
  inShortForm,
  measure: () => Promise.reject(new Error('not measured here')),
});
const ROWS = [row('B-1', true), row('B-8', false)];
const chosen = (...args: string[]) => readOptions(args, ROWS).rows.map(({ id }) => id);

describe('the rows that are measured', () => {
  it('are all of them when none is named, in the short form without those that take minutes', () => {
    expect(chosen()).toEqual(['B-1', 'B-8']);
    expect(chosen('--short', '--check')).toEqual(['B-1']);
  });

  it('are the named ones in any form, and a name that is none is refused', () => {
    expect(chosen('--short', 'b-8')).toEqual(['B-8']);
    expect(chosen('B-8')).toEqual(['B-8']);
    expect(() => chosen('B-9')).toThrow('there is no row B-9');
  });
});
