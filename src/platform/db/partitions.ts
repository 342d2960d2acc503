import { Inject, Injectable } from '@nestjs/common';
import pg from 'pg';
import { Sweeper, type Sweep, type SweepReport } from '../sweep/sweep.ts';
import { DATABASE_URL } from './database.ts';

/** The tables of evidence, each partitioned by the day of the run. */
export const EVIDENCE_TABLES = ['run_log', 'late_evidence', 'run_span', 'artifact', 'evidence_text', 'run_intake'];
/** Days made ahead: an installation whose maintenance fails for a week still takes evidence. */
const DAYS_AHEAD = 7;

/** From yesterday, because a transaction that began before midnight may commit after it. */
const MAKE = `
  SELECT make_evidence_partition(parent, today + ahead)
    FROM unnest($1::text[]) AS parent, generate_series(-1, $2::int) AS ahead,
         (SELECT (now() AT TIME ZONE 'UTC')::date AS today) AS clock
   WHERE to_regclass(format('%s_%s', parent, to_char(today + ahead, 'YYYYMMDD'))) IS NULL`;

/** Makes the partitions of the coming days, as the owner of the schema. Any number of processes may call it at once. */
export async function makePartitions(databaseUrl: string): Promise<number> {
  return asOwner(databaseUrl, async (client) => {
    await client.query('BEGIN');
    await client.query(`SELECT pg_advisory_xact_lock(hashtext('signalbox partitions'))`);
    const { rowCount } = await client.query(MAKE, [EVIDENCE_TABLES, DAYS_AHEAD]);
    await client.query('COMMIT');
    return rowCount ?? 0;
  });
}

/** With those that somebody began to take away and did not finish, killed in between. */
const OF_DAYS = `
  SELECT parent.name AS parent, child.relname AS child, inherits.inhparent IS NOT NULL AS is_attached,
         coalesce(inherits.inhdetachpending, false) AS is_leaving
    FROM unnest($1::text[]) AS parent (name), unnest($2::date[]) AS gone (day), pg_class AS child
    LEFT JOIN pg_inherits AS inherits ON inherits.inhrelid = child.oid
   WHERE child.relname = format('%s_%s', parent.name, to_char(day, 'YYYYMMDD')) AND child.relnamespace = 'public'::regnamespace
   ORDER BY child.relname`;

interface PartitionRow {
  readonly parent: string;
  readonly child: string;
  readonly is_attached: boolean;
  readonly is_leaving: boolean;
}

/** Takes away all evidence of these days. One process at a time; for another one there is nothing to do meanwhile. */
async function dropPartitions(databaseUrl: string, days: readonly string[]): Promise<number> {
  return asOwner(databaseUrl, async (client) => {
    const { rows: tried } = await client.query<{ is_mine: boolean }>(
      `SELECT pg_try_advisory_lock(hashtext('signalbox retention')) AS is_mine`,
    );
    if (tried[0]?.is_mine !== true) return 0;
    const { rows } = await client.query<PartitionRow>(OF_DAYS, [EVIDENCE_TABLES, days]);
    for (const row of rows) await drop(client, row);
    return rows.length;
  });
}

/** First out of its table, for which nobody who reads or writes there has to stop; the rest is a file that is deleted. */
async function drop(client: pg.Client, row: PartitionRow): Promise<void> {
  const [parent, child] = [pg.escapeIdentifier(row.parent), pg.escapeIdentifier(row.child)];
  if (row.is_leaving) await client.query(`ALTER TABLE ${parent} DETACH PARTITION ${child} FINALIZE`);
  else if (row.is_attached) await client.query(`ALTER TABLE ${parent} DETACH PARTITION ${child} CONCURRENTLY`);
  await client.query(`DROP TABLE ${child}`);
}

async function asOwner<Result>(databaseUrl: string, work: (client: pg.Client) => Promise<Result>): Promise<Result> {
  const client = new pg.Client({
    connectionString: databaseUrl,
    application_name: 'signalbox: partitions',
    options: '-c timezone=UTC',
  });
  client.on('error', () => {}); // the statement under way fails, and that is reported
  await client.connect();
  try {
    await client.query(`SET lock_timeout = '5s'`);
    return await work(client);
  } finally {
    await client.end();
  }
}

/** Keeps a week of partitions ahead of the clock. */
@Injectable()
export class PartitionSweep implements Sweep {
  readonly name = 'db.partitions';
  readonly everyMs = 3_600_000;

  constructor(
    @Inject(DATABASE_URL) private readonly databaseUrl: string,
    @Inject(Sweeper) sweeper: Sweeper,
  ) {
    sweeper.add(this);
  }

  async run(): Promise<SweepReport> {
    return { made: await makePartitions(this.databaseUrl) };
  }

  /** Takes away the partitions of these days (YYYY-MM-DD) with all that is in them. Answers how many there were. */
  async drop(days: readonly string[]): Promise<number> {
    return days.length === 0 ? 0 : dropPartitions(this.databaseUrl, days);
  }
}
