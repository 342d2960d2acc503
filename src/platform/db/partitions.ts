import { Inject, Injectable } from '@nestjs/common';
import pg from 'pg';
import { Sweeper, type Sweep, type SweepReport } from '../sweep/sweep.ts';
import { DATABASE_URL } from './database.ts';

const PARENTS = ['run_log', 'late_evidence', 'run_span', 'artifact', 'evidence_text', 'run_intake'];
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
  const client = new pg.Client({
    connectionString: databaseUrl,
    application_name: 'signalbox: partitions',
    options: '-c timezone=UTC',
  });
  client.on('error', () => {}); // the statement under way fails, and that is reported
  await client.connect();
  try {
    await client.query(`SET lock_timeout = '5s'`);
    await client.query('BEGIN');
    await client.query(`SELECT pg_advisory_xact_lock(hashtext('signalbox partitions'))`);
    const { rowCount } = await client.query(MAKE, [PARENTS, DAYS_AHEAD]);
    await client.query('COMMIT');
    return rowCount ?? 0;
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
}
