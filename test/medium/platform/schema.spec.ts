import { execFile } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { missingSql } from '../../../prisma/offline/drift.ts';
import { makePartitions } from '../../../src/platform/db/partitions.ts';
import { createSuiteDatabase, type SuiteDatabase } from '../../support/suite-database.ts';

const EVIDENCE = ['artifact', 'evidence_text', 'late_evidence', 'run_intake', 'run_log', 'run_span'];
/** Yesterday, today and a week ahead. */
const DAYS = 9;

let empty: SuiteDatabase;
let suite: SuiteDatabase;
const scratch = fs.mkdtempSync(path.join(os.tmpdir(), 'schema-'));
beforeAll(async () => {
  [empty, suite] = await Promise.all([createSuiteDatabase('empty'), createSuiteDatabase()]);
});
afterAll(async () => {
  await Promise.all([empty.drop(), suite.drop()]);
  fs.rmSync(scratch, { recursive: true });
});

describe('the migrations', () => {
  it('replayed, are the schema', async () => {
    expect(await missingSql(empty.url, 'prisma/schema.prisma', 'prisma/migrations')).toBe('');
  });

  it('are missed by name where the schema goes further, and the main database is left alone', async () => {
    expect(await missingSql(empty.url, changedSchema(), 'prisma/migrations')).toContain('ADD COLUMN     "colour" TEXT');
    expect(await empty.query(`SELECT 1 FROM pg_tables WHERE schemaname = 'public'`)).toEqual([]);
  });

  it('serve the tool of Prisma without an engine of its own', async () => {
    const args = [
      'migrate',
      'diff',
      '--from-migrations',
      'prisma/migrations',
      '--to-schema',
      changedSchema(),
      '--script',
      '--exit-code',
    ];
    const run = promisify(execFile)('node_modules/.bin/prisma', args, {
      env: { ...process.env, DATABASE_URL: empty.url },
    });
    await expect(run).rejects.toMatchObject({
      code: 2,
      stdout: expect.stringContaining('ADD COLUMN     "colour" TEXT'),
    });
  });

  it('hold every view exactly as its room’s file has it, and no other', () => {
    const files = fs
      .globSync('src/**/*.view.sql')
      .map((file) => statements(fs.readFileSync(file, 'utf8')))
      .flat();
    const newest = new Map<string, string>();
    for (const file of fs.globSync('prisma/migrations/*/migration.sql').sort()) {
      for (const statement of statements(fs.readFileSync(file, 'utf8'))) {
        const [, granted] = /^GRANT SELECT ON (\w+) TO/.exec(statement) ?? [];
        const [, dropped] = /^DROP VIEW (\w+)$/.exec(statement) ?? [];
        if (dropped !== undefined) for (const gone of [dropped, `${dropped}, granted`]) newest.delete(gone);
        const [, made] = /^CREATE VIEW (\w+)/.exec(statement) ?? [];
        if (made !== undefined) newest.set(made, statement);
        else if (granted !== undefined && newest.has(granted)) newest.set(`${granted}, granted`, statement);
      }
    }
    expect(files.length).toBeGreaterThan(0);
    expect([...newest.values()].sort()).toEqual(files.sort());
  });
});

it('the generated client is of this schema', () => {
  const generated = fs.readFileSync('generated/prisma/internal/class.ts', 'utf8');
  const [, literal = '""'] = /"inlineSchema": ("(?:[^"\\]|\\.)*")/.exec(generated) ?? [];
  expect(words(JSON.parse(literal) as string)).toEqual(words(fs.readFileSync('prisma/schema.prisma', 'utf8')));
});

describe('a view that other rooms read', () => {
  it('shows a caller what the tables behind it show, and nothing more', async () => {
    const views = await suite.query<{ name: string; options: string[] | null }>(
      `SELECT relname AS name, reloptions AS options FROM pg_class WHERE relkind = 'v' AND relnamespace = 'public'::regnamespace`,
    );
    expect(views.length).toBeGreaterThan(0);
    for (const { name, options } of views)
      expect({ name, options }).toEqual({ name, options: ['security_invoker=true'] });
  });
});

describe('the partitions of evidence', () => {
  it('are there for yesterday, today and a week ahead, and are made once by however many at a time', async () => {
    expect(await partitions()).toEqual(await expected());
    expect(await makePartitions(suite.url)).toBe(0);
    for (const parent of EVIDENCE) {
      for (const name of (await partitions()).filter((child) => child.startsWith(`${parent}_2`)))
        await suite.query(`DROP TABLE ${name}`);
    }
    const made = await Promise.all(Array.from({ length: 6 }, () => makePartitions(suite.url)));
    expect(made.reduce((sum, one) => sum + one, 0)).toBe(EVIDENCE.length * DAYS);
    expect(await partitions()).toEqual(await expected());
  });

  it('are walled, and open to no session but through their parents', async () => {
    const rows = await suite.query<{ name: string; walled: boolean; open: boolean }>(
      `SELECT c.relname AS name, c.relrowsecurity AND c.relforcerowsecurity AS walled,
              has_table_privilege('signalbox_app', c.oid, 'SELECT, INSERT, UPDATE, DELETE') OR has_table_privilege('signalbox_system', c.oid, 'SELECT, INSERT, UPDATE, DELETE') AS open
         FROM pg_class c JOIN pg_inherits i ON i.inhrelid = c.oid WHERE c.relkind = 'r'`,
    );
    expect(rows).toHaveLength(EVIDENCE.length * DAYS);
    expect(rows.filter(({ walled, open }) => !walled || open)).toEqual([]);
  });

  it('can be made by the owner only', async () => {
    for (const role of ['signalbox_app', 'signalbox_system']) {
      const rows = await suite.query(
        `SELECT has_function_privilege($1, 'make_evidence_partition(text, date)', 'EXECUTE') AS may`,
        [role],
      );
      expect(rows).toEqual([{ may: false }]);
    }
  });
});

async function partitions(): Promise<string[]> {
  const rows = await suite.query<{ name: string }>(
    'SELECT inhrelid::regclass::text AS name FROM pg_inherits JOIN pg_class c ON c.oid = inhrelid WHERE c.relkind = $1 ORDER BY 1',
    ['r'],
  );
  return rows.map(({ name }) => name).sort();
}

async function expected(): Promise<string[]> {
  const rows = await suite.query<{ name: string }>(
    `SELECT format('%s_%s', parent, to_char((now() AT TIME ZONE 'UTC')::date + ahead, 'YYYYMMDD')) AS name FROM unnest($1::text[]) AS parent, generate_series(-1, 7) AS ahead`,
    [EVIDENCE],
  );
  return rows.map(({ name }) => name).sort();
}

function changedSchema(): string {
  const file = path.join(scratch, 'schema.prisma');
  fs.writeFileSync(
    file,
    fs.readFileSync('prisma/schema.prisma', 'utf8').replace('model Replica {', 'model Replica {\n  colour String?'),
  );
  return file;
}

/** The statements of a file, whatever its white space and remarks. */
function statements(sql: string): string[] {
  return sql
    .replaceAll(/--.*$/gm, '')
    .split(';')
    .map((statement) => words(statement).join(' '))
    .filter((statement) => statement !== '');
}

/** Prisma reformats white space in the copy it keeps. */
function words(text: string): string[] {
  return text.split(/\s+/).filter(Boolean);
}
