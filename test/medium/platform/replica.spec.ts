import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Clock } from '../../../src/platform/clock/clock.ts';
import { Database } from '../../../src/platform/db/database.ts';
import { setLogLevel } from '../../../src/platform/log/log.ts';
import { REPLICA_ALIVE_SECONDS, Replica } from '../../../src/platform/replica/replica.ts';
import { createSuiteDatabase, type SuiteDatabase } from '../../support/suite-database.ts';

let suite: SuiteDatabase;
let database: Database;
const started: Replica[] = [];
beforeEach(async () => {
  setLogLevel('error');
  suite = await createSuiteDatabase();
  database = new Database(suite.url);
});
afterEach(async () => {
  for (const replica of started.splice(0)) await replica.onApplicationShutdown();
  await database.close();
  await suite.drop();
});

describe('a replica', () => {
  it('knows within two seconds whether others are there, when they come and when they leave', async () => {
    const one = await start();
    expect(one.isAlone).toBe(true);
    const two = await start();
    expect(two.isAlone).toBe(false);
    await until(() => !one.isAlone);
    await two.onApplicationShutdown();
    await until(() => one.isAlone);
    expect(await rows()).toEqual([one.id]);
  });

  it('is dead to the others once its row was not touched for a while, by the database’s clock', async () => {
    await suite.query(
      `INSERT INTO replica (id, started_at, seen_at) VALUES ('rep_gone', now(), now() - make_interval(secs => $1))`,
      [REPLICA_ALIVE_SECONDS + 1],
    );
    expect((await start()).isAlone).toBe(true);
    await suite.query(`UPDATE replica SET seen_at = now() + interval '2 seconds' WHERE id = 'rep_gone'`);
    expect((await start()).isAlone).toBe(false);
  });

  it('takes nobody’s absence for granted while the database is away', async () => {
    const one = await start();
    await suite.query('REVOKE ALL ON replica FROM signalbox_system');
    await until(() => !one.isAlone);
    await suite.query('GRANT SELECT, INSERT, UPDATE, DELETE ON replica TO signalbox_system');
    await until(() => one.isAlone);
  });

  it('removes what replicas left a day ago', async () => {
    await suite.query(
      `INSERT INTO replica (id, started_at, seen_at) VALUES ('rep_old', now(), now() - interval '25 hours'), ('rep_new', now(), now() - interval '23 hours')`,
    );
    const one = await start();
    await one.onApplicationShutdown();
    expect(await rows()).toEqual(['rep_new']);
  });

  it('says that it leaves, to whoever waits', async () => {
    const one = await start();
    const waited = new Clock().sleep(60_000, one.draining);
    expect(one.isDraining).toBe(false);
    one.drain();
    await waited;
    expect(one.isDraining).toBe(true);
  });
});

async function start(): Promise<Replica> {
  const replica = new Replica(new Clock(), database);
  started.push(replica);
  await replica.onApplicationBootstrap();
  return replica;
}

async function rows(): Promise<string[]> {
  return (await suite.query<{ id: string }>('SELECT id FROM replica ORDER BY id')).map(({ id }) => id);
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await sleep(20); // jest's timeout is the limit
}
