import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Clock } from '../clock/clock.ts';
import { setLogLevel } from '../log/log.ts';
import { Sweeper } from './sweep.ts';

let sweeper: Sweeper;
beforeAll(() => setLogLevel('error')); // sweeps fail here on purpose
beforeEach(() => void (sweeper = new Sweeper(new Clock())));
afterEach(() => sweeper.beforeApplicationShutdown());

describe('a sweep', () => {
  it('runs by the clock, again and again, from the start of the program to its end', async () => {
    let runs = 0;
    sweeper.add({ name: 'tick', everyMs: 5, run: async () => ({ runs: (runs += 1) }) });
    await sleep(20);
    expect(runs).toBe(0);
    sweeper.onApplicationBootstrap();
    await until(() => runs >= 3);
    await sweeper.beforeApplicationShutdown();
    const atEnd = runs;
    await sleep(30);
    expect(runs).toBe(atEnd);
  });

  it('runs one at a time, whoever asks for it', async () => {
    let running = 0;
    let most = 0;
    let runs = 0;
    const run = async () => {
      runs += 1;
      most = Math.max(most, (running += 1));
      await sleep(5);
      running -= 1;
      return {};
    };
    sweeper.add({ name: 'slow', everyMs: 1, run });
    sweeper.onApplicationBootstrap();
    await Promise.all(Array.from({ length: 20 }, () => sweeper.now('slow')));
    await until(() => runs >= 4);
    expect(most).toBe(1);
  });

  it('that is asked for while it runs, runs once more: what was there at the call is seen', async () => {
    const rows: string[] = [];
    const seen: string[][] = [];
    const run = async () => {
      seen.push([...rows]);
      await sleep(10);
      return {};
    };
    sweeper.add({ name: 'look', everyMs: 60_000, run });
    const first = sweeper.now('look');
    await sleep(1);
    rows.push('new');
    await Promise.all([sweeper.now('look'), sweeper.now('look')]);
    await first;
    expect(seen).toEqual([[], ['new']]);
  });

  it('that fails is tried again at the next tick, and disturbs nobody', async () => {
    let failures = 0;
    let others = 0;
    const fail = async () => {
      failures += 1;
      throw new Error('on purpose');
    };
    sweeper.add({ name: 'failing', everyMs: 2, run: fail });
    sweeper.add({ name: 'other', everyMs: 2, run: async () => ({ others: (others += 1) }) });
    sweeper.onApplicationBootstrap();
    await until(() => failures >= 3 && others >= 3);
    await expect(sweeper.now('failing')).resolves.toBeUndefined();
  });

  it('is waited for at the end, and does not begin after it', async () => {
    let ended = false;
    let runs = 0;
    const run = async () => {
      runs += 1;
      await sleep(20);
      ended = true;
      return {};
    };
    sweeper.add({ name: 'long', everyMs: 60_000, run });
    sweeper.onApplicationBootstrap();
    void sweeper.now('long');
    await sleep(1);
    await sweeper.beforeApplicationShutdown();
    expect(ended).toBe(true);
    await sweeper.now('long');
    expect(runs).toBe(1);
  });

  it('has a name of its own', async () => {
    sweeper.add({ name: 'one', everyMs: 1, run: async () => ({}) });
    expect(() => sweeper.add({ name: 'one', everyMs: 1, run: async () => ({}) })).toThrow('Two sweeps are called one');
    await expect(sweeper.now('other')).rejects.toThrow('There is no sweep other');
  });
});

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await sleep(2); // jest's timeout is the limit
}
