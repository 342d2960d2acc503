import { describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { DatabaseBusy, OverloadAccount, type Fault } from '../faults/faults.ts';
import { FairGate, type Leave, type Room } from './fair-gate.ts';

type Name = 'first' | 'second';
const LANE = { most: 8, waiting: 1_000, waitMs: 60_000 };
const ROOM: Room<Name> = {
  capacity: 10,
  perAccount: 8,
  lanes: { first: LANE, second: { ...LANE, most: 4 } },
  full: OverloadAccount,
  late: DatabaseBusy,
  refusalMs: 0,
};

/** Everybody who came, in the order in which they were let in. */
class Crowd {
  readonly inside: string[] = [];
  readonly refused: Fault[] = [];
  private readonly leaves: Leave[] = [];
  private readonly gate: FairGate<Name>;
  constructor(gate: FairGate<Name>) {
    this.gate = gate;
  }

  comes(account: string, lane: Name = 'first', size = 1, isGone?: () => boolean): void {
    const enter = async (): Promise<Leave> => this.gate.enter({ account, lane, size, isGone });
    void enter().then(
      (leave) => {
        this.inside.push(`${account} ${lane}`);
        this.leaves.push(leave);
      },
      (error: unknown) => this.refused.push(error as Fault),
    );
  }

  come(times: number, account: string, lane: Name = 'first'): void {
    for (let time = 0; time < times; time += 1) this.comes(account, lane);
  }

  /** The one who went in first leaves. */
  async leave(): Promise<void> {
    this.leaves.shift()?.();
    await settled();
  }
}

const settled = () => sleep(0);

describe('a fair gate', () => {
  it('lets in at once while there is room, without a promise', () => {
    const gate = new FairGate(ROOM);
    expect(gate.enter({ account: 'a', lane: 'first' })).toBeInstanceOf(Function);
  });

  it('keeps room for whoever comes next, whatever one account does', async () => {
    const crowd = new Crowd(new FairGate(ROOM));
    crowd.come(1_000, 'a');
    await settled();
    expect(crowd.inside).toHaveLength(8);
    crowd.comes('b');
    await settled();
    expect(crowd.inside.at(-1)).toBe('b first');
  });

  it('one caller among a thousand of others waits one turn at most', async () => {
    const crowd = new Crowd(new FairGate(ROOM));
    for (const account of ['a', 'c']) crowd.come(500, account);
    await settled();
    crowd.comes('b');
    await crowd.leave();
    expect(crowd.inside.slice(10)).toEqual(['b first']);
  });

  it('is shared evenly between accounts, however many callers each has', async () => {
    const crowd = new Crowd(new FairGate(ROOM));
    crowd.come(800, 'a');
    crowd.come(40, 'b');
    crowd.come(40, 'c');
    await settled();
    for (let turn = 0; turn < 30; turn += 1) await crowd.leave();
    const later = crowd.inside.slice(-15);
    for (const account of ['a', 'b', 'c'])
      expect(later.filter((one) => one.startsWith(account)).length).toBeGreaterThanOrEqual(4);
  });

  it('one kind of work does not keep an account from the other', async () => {
    const crowd = new Crowd(new FairGate(ROOM));
    crowd.come(500, 'a', 'second');
    await settled();
    expect(crowd.inside).toHaveLength(4);
    crowd.come(500, 'a', 'first');
    await settled();
    expect(crowd.inside.slice(4)).toEqual(Array(4).fill('a first'));
    await crowd.leave();
    expect(crowd.inside).toHaveLength(9);
  });

  it('turns away who finds too many waiting, and says how long those wait', async () => {
    let nowMs = 0;
    const short = { ...LANE, waiting: 3 };
    const gate = new FairGate({ ...ROOM, lanes: { first: short, second: short } }, () => nowMs);
    const crowd = new Crowd(gate);
    crowd.come(11, 'a');
    await settled();
    expect(crowd.refused).toEqual([]);
    await gate.pass('a', 'second');
    nowMs = 4_200;
    await expect(gate.pass('a', 'first')).rejects.toMatchObject({ code: 'overload.account', retryAfterSeconds: 5 });
    crowd.comes('a');
    await sleep(20);
    expect(crowd.refused).toMatchObject([{ code: 'overload.account', status: 429, retryAfterSeconds: 5 }]);
    crowd.comes('b');
    await settled();
    expect(crowd.inside.at(-1)).toBe('b first');
  });

  it('turns away who has waited too long, and its turn goes to the next', async () => {
    const lanes = { first: { ...LANE, waitMs: 20 }, second: LANE };
    const crowd = new Crowd(new FairGate({ ...ROOM, perAccount: 1, lanes }));
    crowd.comes('a', 'second');
    crowd.comes('a', 'first');
    await sleep(60);
    expect(crowd.refused).toMatchObject([{ code: 'database.busy', status: 503, retryAfterSeconds: 1 }]);
    crowd.comes('a', 'second');
    await crowd.leave();
    expect(crowd.inside).toEqual(['a second', 'a second']);
  });

  it('gives no turn to somebody who has hung up', async () => {
    const crowd = new Crowd(new FairGate({ ...ROOM, perAccount: 1 }));
    crowd.comes('a');
    crowd.comes('a', 'first', 1, () => true);
    crowd.comes('a', 'first', 1, () => false);
    await settled();
    await crowd.leave();
    expect(crowd.refused).toHaveLength(1);
    expect(crowd.inside).toHaveLength(2);
  });

  it('lets the large in, alone if need be, and lets no stream of small ones keep them out', async () => {
    const lanes = { first: { ...LANE, most: 100 }, second: { ...LANE, most: 75 } };
    const crowd = new Crowd(new FairGate({ ...ROOM, capacity: 100, perAccount: 75, lanes }));
    crowd.comes('a', 'second', 1_000);
    crowd.comes('b', 'second', 25);
    crowd.comes('c', 'second', 1_000);
    crowd.comes('d', 'second', 1);
    await settled();
    expect(crowd.inside).toEqual(['a second', 'b second']);
    await crowd.leave();
    expect(crowd.inside).toEqual(['a second', 'b second', 'c second']);
    await crowd.leave();
    expect(crowd.inside.at(-1)).toBe('d second');
  });

  it('a line with others waiting rests while another account has urgent work under way, and four times as long as it worked at most', async () => {
    for (const isOtherUrgent of [true, false]) {
      const lanes = { first: { ...LANE, most: 1, rests: true }, second: { ...LANE, isUrgent: isOtherUrgent } };
      const crowd = new Crowd(new FairGate({ ...ROOM, lanes }));
      crowd.come(3, 'a');
      crowd.comes('b', 'second');
      await sleep(30);
      const leftAt = performance.now();
      await crowd.leave();
      if (!isOtherUrgent) expect(crowd.inside).toHaveLength(3);
      while (crowd.inside.length < 3) await sleep(1);
      if (isOtherUrgent) expect(performance.now() - leftAt).toBeGreaterThanOrEqual(4 * 30 - 1);
    }
  });

  it('is empty again when everybody has left, and a second leave gives back nothing', async () => {
    const gate = new FairGate({ ...ROOM, capacity: 1, perAccount: 1 });
    const leave = await gate.enter({ account: 'a', lane: 'first' });
    const next = gate.enter({ account: 'b', lane: 'first' });
    leave();
    leave();
    const last = gate.enter({ account: 'c', lane: 'first' });
    expect(last).toBeInstanceOf(Promise);
    (await next)();
    (await last)();
    expect(gate).toMatchObject({ inside: 0, waiting: 0, flows: new Map() });
  });

  it('costs little while nobody waits', () => {
    const gate = new FairGate(ROOM);
    const turns = 20_000;
    const rounds = Array.from({ length: 5 }, () => {
      const start = performance.now();
      for (let turn = 0; turn < turns; turn += 1) (gate.enter({ account: 'a', lane: 'first' }) as Leave)();
      return ((performance.now() - start) / turns) * 1_000;
    });
    expect(Math.min(...rounds)).toBeLessThan(20); // µs; it is below one
  });
});
