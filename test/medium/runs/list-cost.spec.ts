import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startApp, type RunningApp } from '../../support/app.ts';
import { startStub } from '../../support/stub-worker.ts';

const RUNS = 20_000;
const PAGE = 50;
/** PostgreSQL’s sessions tell what they read once a second. */
const TOLD_MS = 1_500;

let app: RunningApp;
let key: string;
let agent: string;
beforeAll(async () => {
  app = await startApp();
  const account = await app.account();
  ({ key } = account);
  agent = (await startStub(app, key, { handle: 'listed' })).handle;
  await app.database.query(
    `INSERT INTO run (account_id, id, day, agent_id, status, channel, origin_kind, created_by_kind, created_by, request_id, event_id, thread_id,
                      input, input_bytes, created_at, finished_at, end_code)
     SELECT $1, 'run_' || lpad(g::text, 10, '0'), DATE '2026-01-01', (SELECT id FROM agent WHERE account_id = $1), status, channel, 'rest', 'user',
            'test', 'req', 'evt_' || g, 'run_' || lpad(g::text, 10, '0'), '{}', 2, TIMESTAMPTZ '2026-01-01Z' + g * INTERVAL '1 minute',
            now(), 'end.' || status
       FROM generate_series(1, ${RUNS}) AS g,
            LATERAL (SELECT (ARRAY['succeeded', 'failed', 'cancelled'])[1 + g % 3] AS status, (ARRAY['api', 'cron'])[1 + g % 2] AS channel) AS made`,
    [account.accountId],
  );
  await app.database.query('VACUUM ANALYZE run');
}, 60_000);
afterAll(() => app.stop());

/** Rows of runs that were looked at since the database was made. */
async function rowsRead(): Promise<number> {
  await sleep(TOLD_MS);
  const [row] = await app.database.query<{ rows: number }>(
    `SELECT (seq_tup_read + idx_tup_fetch)::float8 AS rows FROM pg_stat_user_tables WHERE relname = 'run'`,
  );
  return row?.rows ?? Number.NaN;
}

describe('F-24: a page of the list of runs', () => {
  it('reads the rows that it shows and counts nothing, wherever it is and whatever it is of', async () => {
    const middle = new Date(Date.UTC(2026, 0, 1) + (RUNS / 2) * 60_000).toISOString();
    const pages = [
      '',
      `to=${middle}`,
      `agent_id=${agent}`,
      `agent_id=${agent}&to=${middle}`,
      'status=failed',
      `channel=cron&to=${middle}`,
    ];
    const before = await rowsRead();
    for (const page of pages) {
      const { status, json } = await app.call('GET', `/api/v1/runs?limit=${PAGE}&${page}`, { key });
      expect([status, json.length]).toEqual([200, PAGE]);
    }
    expect((await rowsRead()) - before).toBeLessThan(10 * pages.length * PAGE);
  });
});
