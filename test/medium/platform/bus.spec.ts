import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { Bus } from '../../../src/platform/bus/bus.ts';
import { POKE_CHANNEL } from '../../../src/platform/bus/keys.ts';
import { Clock } from '../../../src/platform/clock/clock.ts';
import { Database } from '../../../src/platform/db/database.ts';
import { setLogLevel } from '../../../src/platform/log/log.ts';
import { Replica } from '../../../src/platform/replica/replica.ts';
import { createSuiteDatabase, type SuiteDatabase } from '../../support/suite-database.ts';

/** One replica, as far as the bus goes. */
interface Member {
  readonly bus: Bus;
  readonly replica: Replica;
  readonly heard: string[];
  leave(): Promise<void>;
}

let suite: SuiteDatabase;
let members: Member[];
beforeEach(async () => {
  setLogLevel('error'); // connections are lost here on purpose
  suite = await createSuiteDatabase();
  members = [];
});
afterEach(async () => {
  for (const member of members) await member.leave();
  await suite.drop();
});

describe('pokes', () => {
  it('reach the listeners of their own process at once, and one that fails disturbs nobody', async () => {
    const { bus, heard } = await join();
    bus.on('run.ended', () => {
      throw new Error('on purpose');
    });
    bus.on('run.ended', (id) => void heard.push(`second ${id}`));
    bus.poke('run.ended', 'a/r');
    bus.poke('run.cancelled', 'nobody listens');
    expect(heard).toEqual(['a/r', 'second a/r']);
  });

  it('are heard once by every other replica, and not twice by their own', async () => {
    const [one, two, three] = await joinAll(3);
    for (const id of ['a/1', 'a/2', 'a/2', 'a/1']) one.bus.poke('run.ended', id);
    await until(() => two.heard.length >= 2 && three.heard.length >= 2);
    two.bus.poke('run.ended', 'a/3');
    await until(() => one.heard.includes('a/3') && three.heard.includes('a/3'));
    expect([one.heard, two.heard, three.heard]).toEqual([
      ['a/1', 'a/2', 'a/2', 'a/1', 'a/3'],
      ['a/1', 'a/2', 'a/3'],
      ['a/1', 'a/2', 'a/3'],
    ]);
  });

  it('are not sent while nobody else is there', async () => {
    const alone = await join();
    const notified = await overhear();
    alone.bus.poke('run.ended', 'a/unheard');
    await sleep(100);
    const other = await join();
    await until(() => !alone.replica.isAlone);
    alone.bus.poke('run.ended', 'a/heard');
    await until(() => other.heard.length > 0);
    expect(notified.map((payload) => JSON.parse(payload) as unknown)).toEqual([
      [alone.replica.id, [['run.ended', 'a/heard']]],
    ]);
  });

  it('F-1: carry ids only, in notifications far below the limit, however long and many the ids are', async () => {
    const [one, two] = await joinAll(2);
    const notified = await overhear();
    const ids = Array.from({ length: 500 }, (_, index) => `acct_1/${index}-${'€'.repeat((index * 7) % 1_000)}`);
    for (const id of ids) one.bus.poke('run.grew', id);
    await until(() => two.heard.length === ids.length);
    expect(new Set(two.heard)).toEqual(new Set(ids));
    expect(Math.max(...notified.map((payload) => Buffer.byteLength(payload)))).toBeLessThan(7_000);
  });
});

describe('F-34: a listener whose connection was ended', () => {
  it('listens again, says that something may have been missed, and hears again', async () => {
    const [one, two] = await joinAll(2);
    let gaps = 0;
    two.bus.onGap(() => (gaps += 1));
    for (const round of [1, 2]) {
      await endListeners();
      await until(() => gaps === round);
      await until(async () => (await listeners()) === 2);
      one.bus.poke('run.ended', `a/${round}`);
      await until(() => two.heard.includes(`a/${round}`));
    }
    expect(two.heard).toEqual(['a/1', 'a/2']);
  });

  it('leaves no connection behind when the process ends, also while it is trying', async () => {
    const [one, two] = await joinAll(2);
    await endListeners();
    await two.leave();
    await one.leave();
    await sleep(500); // the next try would come within this time
    expect(await listeners()).toBe(0);
  });
});

/** Replicas that know of each other; they are taken apart by position. */
async function joinAll(count: number): Promise<[Member, Member, Member]> {
  const all: Member[] = [];
  while (all.length < count) all.push(await join());
  await until(() => all.every(({ replica }) => !replica.isAlone));
  return all as [Member, Member, Member];
}

async function join(): Promise<Member> {
  const clock = new Clock();
  const database = new Database(suite.url);
  const replica = new Replica(clock, database);
  const bus = new Bus(suite.url, database, replica, clock);
  const heard: string[] = [];
  for (const topic of ['run.ended', 'run.grew'] as const) bus.on(topic, (id) => void heard.push(id));
  await replica.onApplicationBootstrap();
  await bus.onApplicationBootstrap();
  let hasLeft = false;
  const leave = async () => {
    if (hasLeft) return;
    hasLeft = true;
    await bus.onApplicationShutdown();
    await replica.onApplicationShutdown();
    await database.close();
  };
  members.push({ bus, replica, heard, leave });
  return { bus, replica, heard, leave };
}

/** Everything that is sent on the channel from now on. */
async function overhear(): Promise<string[]> {
  const client = new pg.Client({ connectionString: suite.url });
  client.on('error', () => {}); // it ends with the database
  await client.connect();
  const payloads: string[] = [];
  client.on('notification', ({ payload }) => void payloads.push(payload ?? ''));
  await client.query(`LISTEN ${POKE_CHANNEL}`);
  return payloads;
}

async function listeners(): Promise<number> {
  const sql = `SELECT 1 FROM pg_stat_activity WHERE application_name = 'signalbox: bus' AND datname = current_database()`;
  return (await suite.query(sql)).length;
}

async function endListeners(): Promise<void> {
  await suite.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'signalbox: bus' AND datname = current_database()`,
  );
}

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await sleep(10); // jest's timeout is the limit
}
