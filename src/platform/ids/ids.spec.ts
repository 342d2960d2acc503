import { describe, expect, it } from '@jest/globals';
import { ID_PREFIXES, newId } from './ids.ts';

describe('an id', () => {
  it('shows its kind, and is 26 characters after it that can be read aloud', () => {
    for (const [kind, prefix] of Object.entries(ID_PREFIXES)) {
      const id = newId(kind as keyof typeof ID_PREFIXES, 1_700_000_000_000);
      expect(id).toMatch(new RegExp(`^${prefix}_[0-9a-hjkmnp-tv-z]{26}$`));
    }
  });

  it('sorts by creation, byte by byte', () => {
    const moments = [0, 31, 32, 1_023, 1_024, 1_700_000_000_000, 1_700_000_000_001, 2 ** 49];
    const ids = moments.map((moment) => newId('run', moment));
    expect([...ids].sort()).toEqual(ids);
  });

  it('sorts as it was made, also in one millisecond', () => {
    const ids = Array.from({ length: 1_000 }, () => newId('audit', 1_700_000_000_000));
    const turns = ids.slice(1).filter((id, place) => id < (ids[place] ?? '')).length;
    expect(turns).toBeLessThanOrEqual(1); // where the counter begins anew: once in 33 million
  });

  it('is never given twice, also in one millisecond', () => {
    const ids = Array.from({ length: 20_000 }, () => newId('run', 1_700_000_000_000));
    expect(new Set(ids).size).toBe(20_000);
  });

  it('has a prefix of its own for every kind, and none that a secret has', () => {
    const prefixes = Object.values(ID_PREFIXES);
    expect(new Set(prefixes).size).toBe(prefixes.length);
    expect(prefixes).not.toEqual(expect.arrayContaining(['sk']));
    expect(prefixes).not.toEqual(expect.arrayContaining(['swt']));
  });
});
