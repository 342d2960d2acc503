import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import { noOpEvents, RUN_INPUT } from '../client/payloads.ts';
import { execute } from './floor-database.ts';

/** A run that was claimed: its id and the attempt that fences the reports about it. */
export interface ClaimedRun {
  readonly id: string;
  readonly attempt: number;
}

/** The name of the notification that announces a run. */
export const RUN_QUEUED = 'floor_run_queued';

const TABLES = `
  CREATE TABLE IF NOT EXISTS run (
    id uuid PRIMARY KEY, agent_id text NOT NULL, status text NOT NULL DEFAULT 'queued', input jsonb NOT NULL, output jsonb, worker_id text,
    attempt int NOT NULL DEFAULT 0, created_at timestamptz NOT NULL DEFAULT now(), claimed_at timestamptz, started_at timestamptz, ended_at timestamptz);
  CREATE INDEX IF NOT EXISTS run_queued ON run (agent_id, created_at) WHERE status = 'queued';
  CREATE TABLE IF NOT EXISTS event (
    run_id uuid NOT NULL, seq int NOT NULL, type text NOT NULL, at timestamptz NOT NULL, body jsonb NOT NULL, PRIMARY KEY (run_id, seq))`;

const QUEUE = `INSERT INTO run (id, agent_id, input) VALUES ($1, 'bench', $2)`;

const QUEUE_AND_NOTIFY = `WITH queued AS (${QUEUE} RETURNING id) SELECT pg_notify('${RUN_QUEUED}', id::text) FROM queued`;

const CLAIM = `
  UPDATE run SET status = 'claimed', worker_id = $1, attempt = attempt + 1, claimed_at = now()
  WHERE id = (SELECT id FROM run WHERE agent_id = 'bench' AND status = 'queued' ORDER BY created_at FOR UPDATE SKIP LOCKED LIMIT 1)
  RETURNING id, attempt`;

const START = `
  UPDATE run SET status = 'running', started_at = now()
  WHERE id = $1 AND worker_id = $2 AND attempt = $3 AND status = 'claimed'`;

const ADD_EVENTS = `
  INSERT INTO event (run_id, seq, type, at, body)
  SELECT $1, * FROM unnest($2::int[], $3::text[], $4::timestamptz[], $5::jsonb[]) ON CONFLICT DO NOTHING`;

const COMPLETE = `
  UPDATE run SET status = 'succeeded', output = $4, ended_at = now()
  WHERE id = $1 AND worker_id = $2 AND attempt = $3 AND status = 'running'`;

/**
 * The least SQL that still does the job: a durable queue with a fence, one statement and one commit for each mutation
 * of a run. No accounts, no audit, no history, no HTTP.
 */
export class RunQueue {
  private readonly client: pg.Client;
  private readonly worker: string;

  constructor(client: pg.Client, worker: string) {
    this.client = client;
    this.worker = worker;
  }

  /** Makes the tables where they are missing. */
  async create(): Promise<void> {
    await this.client.query(TABLES);
  }

  async queue(): Promise<void> {
    await execute(this.client, 'queue', QUEUE, [randomUUID(), JSON.stringify(RUN_INPUT)]);
  }

  async queueAndNotify(): Promise<void> {
    await execute(this.client, 'queue_and_notify', QUEUE_AND_NOTIFY, [randomUUID(), JSON.stringify(RUN_INPUT)]);
  }

  /** The oldest run that nobody holds; undefined when there is none. */
  async claim(): Promise<ClaimedRun | undefined> {
    const { rows } = await execute<{ id: string; attempt: number }>(this.client, 'claim', CLAIM, [this.worker]);
    return rows[0];
  }

  async start({ id, attempt }: ClaimedRun): Promise<void> {
    hit('start', await execute(this.client, 'start', START, [id, this.worker, attempt]), 1);
  }

  /** Stores the five events of a no-op run. */
  async addEvents({ id }: ClaimedRun): Promise<void> {
    const events = noOpEvents(id);
    const columns = ['event_sequence', 'event_type', 'timestamp'].map((name) => events.map((event) => event[name]));
    const values = [id, ...columns, events.map((event) => JSON.stringify(event))];
    hit('events', await execute(this.client, 'add_events', ADD_EVENTS, values), events.length);
  }

  async complete({ id, attempt }: ClaimedRun): Promise<void> {
    const output = JSON.stringify({ text: 'done' });
    hit('complete', await execute(this.client, 'complete', COMPLETE, [id, this.worker, attempt, output]), 1);
  }
}

function hit(what: string, { rowCount }: pg.QueryResult, rows: number): void {
  if (rowCount !== rows) throw new Error(`${what} of the floor changed ${rowCount ?? 0} rows instead of ${rows}`);
}
