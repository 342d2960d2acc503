import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { startApp, type RunningApp } from '../support/app.ts';
import { SAMPLES } from '../support/samples.ts';
import { createSuiteDatabase, type SuiteDatabase } from '../support/suite-database.ts';
import { FRAMES_OPERATION, exchange, requestOf, type Asked } from './exchange.ts';
import { isMutation, isOpen, sampledOf } from './stage.ts';

interface Row {
  readonly operation: string;
  readonly outcome: string;
  readonly address: string;
  readonly detail: { readonly code: string; readonly credential_prefix?: string; readonly count?: number };
  readonly [column: string]: unknown;
}

const PER_MINUTE = 60;
const SECRET = 'sk_a-secret-that-nobody-has-ever-been-given';
const ADDRESSES = ['192.0.2.1', '192.0.2.2', '192.0.2.3'];
let app: RunningApp;
let database: SuiteDatabase;

beforeAll(async () => {
  database = await createSuiteDatabase();
  const env = {
    SIGNALBOX_TRUSTED_PROXIES: '127.0.0.0/8',
    SIGNALBOX_FAILED_CREDENTIALS_PER_MINUTE: '1000000',
    SIGNALBOX_CLAIM_REFUSAL_WAIT_SECONDS: '0',
  };
  app = await startApp({ database, env });
});
afterAll(() => database.drop());

test('K-75: a mutation that is refused because nobody knows the caller is on record in the system’s account, bounded in rate', async () => {
  const closed = [...SAMPLES.values()].map(({ op }) => op).filter((op) => isMutation(op) && !isOpen(op));
  const frame = closed.find((op) => op.frame); // all frames are one operation to a stranger, and there are more than a minute has room for
  const mutations = closed.filter((op) => !op.frame || op === frame);
  const reads = [...SAMPLES.values()].map(({ op }) => op).filter((op) => !isMutation(op) && !isOpen(op));
  // Of some addresses, because there are more operations than one may leave rows for in a minute.
  for (const [index, op] of [...mutations, ...reads].entries())
    await exchange(app.url, from(ADDRESSES[index % ADDRESSES.length] ?? '', requestOf(op, {}, SECRET)));
  const expected = mutations.map((op) => (op.frame ? FRAMES_OPERATION : op.id)).sort();
  const rows = await rowsOnce((found) => found.length >= expected.length);
  expect(rows.map(({ operation }) => operation).sort()).toEqual(expected);
  for (const row of rows) {
    expect(row).toMatchObject({
      outcome: 'refused',
      address: expect.stringMatching(/^192\.0\.2\.[123]$/),
      detail: { code: 'auth.invalid', credential_prefix: SECRET.slice(0, 8) },
    });
    expect(JSON.stringify(row)).not.toContain(SECRET.slice(0, 20));
  }

  const more = 150;
  const refused = requestOf(sampledOf('runs.create').op, { body: {} }, undefined);
  for (let sent = 0; sent < more; sent += 1) await exchange(app.url, from('192.0.2.9', refused));
  await app.stop(); // what was counted is put on record at the latest now
  const isFlood = ({ address }: Row) => address === '192.0.2.9';
  const flood = (await rowsOnce((found) => found.filter(isFlood).length > PER_MINUTE)).filter(isFlood);
  const counts = flood.filter(({ detail }) => detail.count !== undefined);
  expect(flood.length - counts.length).toBe(PER_MINUTE);
  expect(counts.map(({ detail }) => detail.count)).toEqual([more - PER_MINUTE]);
});

function from(address: string, asked: Asked): Asked {
  return { ...asked, headers: { ...asked.headers, 'x-forwarded-for': address } };
}

/** Rows of strangers are written in the background. */
async function rowsOnce(holds: (rows: readonly Row[]) => boolean): Promise<readonly Row[]> {
  for (let attempt = 0; ; attempt += 1) {
    const rows = await database.query<Row>(
      `SELECT operation, outcome, address, detail FROM audit_entry WHERE account_id = 'acct_system'`,
    );
    if (holds(rows) || attempt > 50) return rows;
    await sleep(100);
  }
}
