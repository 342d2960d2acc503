import fs from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from '@jest/globals';
import type { RestClient } from '../rest.ts';
import type { Load } from './load.ts';
import { scaled } from './factor.ts';

/** Where the workers wrote what they did. */
export interface Journal {
  readonly entries: string;
  readonly acknowledged: string;
}

/** What a scenario leaves to be counted. */
export interface Remains {
  readonly rest: RestClient;
  readonly query: <Row extends object>(sql: string) => Promise<Row[]>;
  readonly journal: Journal;
  readonly load: Pick<Load, 'accepted' | 'told'>;
  /** Whether the agent's policy retries: then a run may be entered again, in another attempt. */
  readonly isRetried?: boolean;
  /** Within how many seconds (of true length) every run must have ended. */
  readonly withinSeconds?: number;
}

interface RunRow {
  readonly id: string;
  readonly status: string;
  readonly attempt: number;
  readonly end_code: string | null;
  readonly error: string | null;
  readonly slot: number | null;
  readonly ends: number;
}

const TERMINAL = ['succeeded', 'failed', 'cancelled'];
const UNFINISHED = `SELECT count(*)::int AS unfinished FROM run WHERE status NOT IN ('succeeded', 'failed', 'cancelled')`;
const RUNS = `
  SELECT id, status, attempt, end_code, error, slot,
         (SELECT count(*)::int FROM run_log AS log
           WHERE log.account_id = run.account_id AND log.run_id = run.id AND log.type = 'run.status'
             AND log.event ->> 'status' IN ('succeeded', 'failed', 'cancelled')) AS ends
    FROM run ORDER BY id`;

/** How the runs ended, and how often handlers were entered. */
export interface Count {
  readonly runs: number;
  readonly succeeded: number;
  readonly entries: number;
  /** Batches of events that were acknowledged. */
  readonly batches: number;
  readonly codes: Readonly<Record<string, number>>;
}

/**
 * The counts that matter, after whatever fault: every accepted run has ended, once; by the workers' own lines no attempt
 * was entered twice, without a retry no run twice, every success exactly once in the attempt that succeeded; no
 * acknowledged event is missing; there are as many rows as accepted runs.
 */
export async function auditOfFaults(remains: Remains): Promise<Count> {
  const { query, journal, load, isRetried = false, withinSeconds = 60 } = remains;
  await untilEnded(query, withinSeconds);
  const rows = await query<RunRow>(RUNS);
  const entries = readLines(journal.entries).map(([runId = '', attempt = '']) => ({ runId, attempt: Number(attempt) }));
  expect(rows.map(({ id }) => id)).toEqual([...load.accepted].sort());
  expect(rows.filter((row) => row.ends !== 1 || row.slot !== null || row.end_code === null)).toEqual([]);
  expect(rows.filter(({ status, error }) => status === 'failed' && error === null)).toEqual([]);
  expect(twice(entries.map(({ runId, attempt }) => `${runId} ${attempt}`))).toEqual([]);
  if (!isRetried) expect(twice(entries.map(({ runId }) => runId))).toEqual([]);
  const known = new Map(rows.map((row) => [row.id, row]));
  expect(entries.filter(({ runId, attempt }) => attempt > (known.get(runId)?.attempt ?? 0))).toEqual([]);
  const entered = new Set(entries.map(({ runId, attempt }) => `${runId} ${attempt}`));
  const succeeded = rows.filter(({ status }) => status === 'succeeded');
  expect(succeeded.filter(({ id, attempt }) => !entered.has(`${id} ${attempt}`))).toEqual([]);
  const belied = [...load.told].filter(([runId, status]) => known.get(runId)?.status !== status);
  expect(belied).toEqual([]);
  await auditOfEvents(remains);
  const batches = readLines(journal.acknowledged).length;
  return { runs: rows.length, succeeded: succeeded.length, entries: entries.length, batches, codes: codesOf(rows) };
}

async function untilEnded(query: Remains['query'], withinSeconds: number): Promise<void> {
  const until = performance.now() + scaled(withinSeconds) + 15_000; // some of it is for a busy machine
  for (;;) {
    const [row] = await query<{ unfinished: number }>(UNFINISHED);
    if (row?.unfinished === 0) return;
    if (performance.now() > until) {
      const left = await query<object>(
        `SELECT id, status, attempt, offers, worker_id, waiting_since, claimed_at, started_at, now() AS now FROM run WHERE NOT status = ANY ('{${TERMINAL.join(',')}}') LIMIT 5`,
      );
      throw new Error(`${row?.unfinished} runs have not ended, such as ${JSON.stringify(left, null, 1)}`);
    }
    await sleep(100);
  }
}

/** Every event of an acknowledged batch is in its run's record, or among what came too late. */
async function auditOfEvents({ rest, query, journal }: Remains): Promise<void> {
  const told = new Map<string, Set<string>>();
  for (const [runId = '', eventId, first, last] of readLines(journal.acknowledged)) {
    const marks = told.get(runId) ?? new Set();
    told.set(runId, marks);
    for (let number = Number(first); number <= Number(last); number += 1) marks.add(`${eventId} ${number}`);
  }
  const late = await query<{ run_id: string; mark: string }>(
    `SELECT run_id, content #>> '{event,event_id}' || ' ' || (content #>> '{event,event_sequence}') AS mark FROM late_evidence WHERE kind = 'event'`,
  );
  for (const { run_id: runId, mark } of late) told.get(runId)?.delete(mark);
  for (const [runId, marks] of told) {
    if (marks.size === 0) continue;
    const stored = await rest.ask<StoredEvent[]>('GET', `/api/v1/runs/${runId}/events`, { query: { limit: 1_000 } });
    const kept = stored.map((event) => `${event.event_id} ${event.event_sequence}`);
    expect(twice(kept.filter((mark) => mark.startsWith('evt_')))).toEqual([]);
    for (const mark of kept) marks.delete(mark);
    expect([runId, [...marks]]).toEqual([runId, []]);
  }
}

interface StoredEvent {
  readonly event_id: string | null;
  readonly event_sequence: number | null;
}

/** What was killed while it wrote leaves half a line: it counts for nothing. */
function readLines(file: string): string[][] {
  if (!fs.existsSync(file)) return [];
  const lines = fs.readFileSync(file, 'utf8').split('\n');
  return lines.slice(0, -1).map((line) => line.split(' '));
}

function twice(items: readonly string[]): string[] {
  const seen = new Set<string>();
  return items.filter((item) => seen.size === seen.add(item).size);
}

function codesOf(rows: readonly RunRow[]): Record<string, number> {
  const codes: Record<string, number> = {};
  for (const { end_code: code } of rows) codes[code ?? ''] = (codes[code ?? ''] ?? 0) + 1;
  return codes;
}
