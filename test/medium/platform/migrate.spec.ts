import { execFile } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { readConfig, StartRefused } from '../../../src/platform/config/config.ts';
import { applyMigrations } from '../../../src/platform/db/migrate.ts';
import { MIGRATIONS, openDatabase } from '../../../src/start.ts';
import { createSuiteDatabase, type SuiteDatabase } from '../../support/suite-database.ts';

let suite: SuiteDatabase;
let directory: string;
beforeEach(async () => {
  suite = await createSuiteDatabase('empty');
  directory = fs.mkdtempSync(path.join(os.tmpdir(), 'migrations-'));
  write('1_first', 'CREATE TABLE first ();');
});
afterEach(async () => {
  await suite.drop();
  fs.rmSync(directory, { recursive: true });
});

describe('migrations', () => {
  it('are applied in the order of their names, each once, however many processes start at the same time', async () => {
    write('10_tenth', 'INSERT INTO steps VALUES (10);');
    write(
      '2_second',
      'CREATE FUNCTION two() RETURNS int AS $$ BEGIN RETURN 2; END; $$ LANGUAGE plpgsql; INSERT INTO steps VALUES (2);',
    );
    write('0_steps', 'CREATE TABLE steps (n int, at bigserial);');
    const applied = await Promise.all(Array.from({ length: 15 }, () => applyMigrations(suite.url, directory)));
    expect(applied.flat()).toEqual(['0_steps', '10_tenth', '1_first', '2_second']);
    expect(await suite.query('SELECT n FROM steps ORDER BY at')).toEqual([{ n: 10 }, { n: 2 }]);
    expect(await applyMigrations(suite.url, directory)).toEqual([]);
  });

  it('that fail leave nothing, and then nobody goes on', async () => {
    write('2_broken', 'CREATE TABLE second (); SELECT 1 / 0;');
    write('3_third', 'CREATE TABLE third ();');
    await expect(applyMigrations(suite.url, directory)).rejects.toThrow('Migration 2_broken failed: division by zero');
    expect(await suite.query(`SELECT tablename FROM pg_tables WHERE tablename IN ('second', 'third')`)).toEqual([]);
    await expect(applyMigrations(suite.url, directory)).rejects.toThrow('2_broken failed earlier');
  });

  it('that were edited after they were applied are refused', async () => {
    await applyMigrations(suite.url, directory);
    write('1_first', 'CREATE TABLE other ();');
    await expect(applyMigrations(suite.url, directory)).rejects.toThrow('1_first was edited after it was applied');
  });

  it('that this build does not know are refused by name: the database is newer', async () => {
    write('2_second', 'SELECT 2;');
    await applyMigrations(suite.url, directory);
    fs.rmSync(path.join(directory, '2_second'), { recursive: true });
    await expect(applyMigrations(suite.url, directory)).rejects.toThrow(
      'The database is ahead of this build: it has 2_second',
    );
  });

  it('are entered as Prisma enters them, so that its tool agrees', async () => {
    await applyMigrations(suite.url, MIGRATIONS);
    const env = { ...process.env, DATABASE_URL: suite.url };
    const { stdout } = await promisify(execFile)('node_modules/.bin/prisma', ['migrate', 'status'], { env });
    expect(stdout).toContain('Database schema is up to date!');
  }, 120_000); // its tool takes seconds to start
});

describe('the start', () => {
  it('brings an empty database up to date, whichever of many replicas is first', async () => {
    const config = readConfig({ DATABASE_URL: suite.url });
    const opened = await Promise.all(Array.from({ length: 5 }, () => openDatabase(config, directory)));
    for (const { url, stop } of opened) {
      expect(url).toBe(suite.url);
      await stop();
    }
    const files = fs.readdirSync(MIGRATIONS).filter((name) => /^\d/.test(name));
    const entered = await suite.query<{ name: string }>(
      'SELECT migration_name AS name FROM _prisma_migrations WHERE finished_at IS NOT NULL ORDER BY 1',
    );
    expect(entered.map(({ name }) => name)).toEqual(files.sort());
  });

  it('refuses a database that is ahead of this build, naming the setting and the migration', async () => {
    await applyMigrations(suite.url, MIGRATIONS);
    await suite.query(
      `INSERT INTO _prisma_migrations (id, checksum, migration_name, finished_at) VALUES ('x', 'x', '20990101000000_later', now())`,
    );
    const refusal = openDatabase(readConfig({ DATABASE_URL: suite.url }), directory);
    await expect(refusal).rejects.toBeInstanceOf(StartRefused);
    await expect(refusal).rejects.toThrow(
      'DATABASE_URL: The database is ahead of this build: it has 20990101000000_later',
    );
  });
});

function write(name: string, sql: string): void {
  fs.mkdirSync(path.join(directory, name), { recursive: true });
  fs.writeFileSync(path.join(directory, name, 'migration.sql'), sql);
}
