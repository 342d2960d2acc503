import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { startEmbeddedPostgres, type EmbeddedPostgres } from '../../src/platform/embedded-postgres/launcher.ts';

/** The database every suite's own database is copied from; migrated once a run. */
export const TEMPLATE_DATABASE = 'suite_template';

/** Names the server of this run to the jest workers. */
export const SERVER_URL_VARIABLE = 'TEST_POSTGRES_URL';

let server: EmbeddedPostgres | undefined;
let stateDir: string | undefined;

/** One throw-away server a jest run, so that two runs at once do not meet. */
export async function startTestServer(): Promise<EmbeddedPostgres> {
  stateDir = fs.mkdtempSync(path.join(os.tmpdir(), 'signalbox-test-'));
  fs.chmodSync(stateDir, 0o755); // mkdtemp makes 0700, which the account that root lends cannot enter
  server = await startEmbeddedPostgres({ stateDir, durability: 'disposable' });
  return server;
}

export async function stopTestServer(): Promise<void> {
  await server?.stop();
  if (stateDir) fs.rmSync(stateDir, { recursive: true, force: true });
}
