/** Writes docs/generated from the program itself: `npm run gen`. Nothing listens, and the database is thrown away. */
import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { createApp } from '../src/app.ts';
import { readConfig } from '../src/platform/config/config.ts';
import { KeyRing } from '../src/platform/crypto/key-ring.ts';
import { applyMigrations } from '../src/platform/db/migrate.ts';
import { makePartitions } from '../src/platform/db/partitions.ts';
import { startEmbeddedPostgres } from '../src/platform/embedded-postgres/launcher.ts';
import { SystemPages } from '../src/platform/http/system.service.ts';
import { setLogLevel } from '../src/platform/log/log.ts';
import { OperationRegistry } from '../src/platform/operation/registry.ts';
import { MIGRATIONS } from '../src/start.ts';
import { referencesOf, type Known } from './references.ts';

const TARGET = 'docs/generated';

setLogLevel('error');
const stateDir = fs.mkdtempSync(path.join(os.tmpdir(), 'signalbox-generate-'));
fs.chmodSync(stateDir, 0o755); // mkdtemp makes 0700, which the account that root lends cannot enter
try {
  write(referencesOf(await knownByTheProgram()));
} finally {
  fs.rmSync(stateDir, { recursive: true, force: true });
}

async function knownByTheProgram(): Promise<Known> {
  const server = await startEmbeddedPostgres({ stateDir, durability: 'disposable' });
  try {
    const databaseUrl = server.url('postgres');
    await applyMigrations(databaseUrl, MIGRATIONS);
    await makePartitions(databaseUrl);
    const keys = JSON.stringify({ active: 'once', keys: { once: randomBytes(32).toString('base64') } });
    const app = await createApp({ config: readConfig({}), databaseUrl, keyRing: KeyRing.parse(keys, 'generate') });
    const operations = app.nest
      .get(OperationRegistry)
      .all()
      .map(({ op }) => op);
    const document = await app.nest.get(SystemPages).openApi();
    await app.close();
    return { operations, document };
  } finally {
    await server.stop();
  }
}

function write(references: ReadonlyMap<string, string>): void {
  fs.rmSync(TARGET, { recursive: true, force: true });
  fs.mkdirSync(TARGET, { recursive: true });
  for (const [name, text] of references) fs.writeFileSync(path.join(TARGET, name), text);
  process.stdout.write(`${references.size} references in ${TARGET}\n`);
}
