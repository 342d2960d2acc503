import { randomInt } from 'node:crypto';

/** Numbers that look random and come again with the same seed. */
export interface Chance {
  /** From 0 up to 1. */
  next(): number;
  /** From `least` up to `most`. */
  between(least: number, most: number): number;
  pick<T>(choices: readonly T[]): T;
}

const SEED = Number(process.env['SIGNALBOX_FAULT_SEED'] ?? randomInt(1, 1_000_000));

/** The chance of one scenario. The seed is printed: with SIGNALBOX_FAULT_SEED set to it the same instants come again. */
export function chanceOf(scenario: string): Chance {
  process.stdout.write(`faults: SIGNALBOX_FAULT_SEED=${SEED} (${scenario})\n`);
  let hash = SEED;
  for (const character of scenario) hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 16_777_619);
  return chanceFrom(hash);
}

/** A chance of its own for each seed. */
export function chanceFrom(seed: number): Chance {
  let state = seed | 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
  return {
    next,
    between: (least, most) => least + next() * (most - least),
    pick: (choices) => {
      const choice = choices[Math.floor(next() * choices.length)];
      if (choice === undefined) throw new Error('There is nothing to choose from');
      return choice;
    },
  };
}
