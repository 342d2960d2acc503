import { createApp } from './app.ts';
import { Accounts } from './identity/index.ts';
import { StartRefused, readConfig, type Config } from './platform/config/config.ts';
import { lockDataDir } from './platform/config/data-dir-lock.ts';
import { Fault } from './platform/faults/faults.ts';
import { setLogLevel } from './platform/log/log.ts';
import { openDataDir, openDatabase, openKeyRing, type OpenedDatabase } from './start.ts';

const USAGE = `Usage: npm run admin -- account create <slug> [--owner <mail address>]

Makes an account with an owner, and prints the owner's API key, once.
Uses the same database as the server: DATABASE_URL, or the private one under SIGNALBOX_DATA_DIR (also while the server runs).`;

const [subject, verb, slug, ...options] = process.argv.slice(2);
if (subject === '--help' || subject === 'help') {
  process.stdout.write(`${USAGE}\n`);
} else if (subject !== 'account' || verb !== 'create' || slug === undefined) {
  process.stderr.write(`${USAGE}\n`);
  process.exitCode = 2;
} else {
  await createAccount(slug, options[0] === '--owner' ? options[1] : undefined).catch(refuse);
}

async function createAccount(accountSlug: string, owner: string | undefined): Promise<void> {
  const config = readConfig(process.env);
  setLogLevel('error');
  const dataDir = openDataDir(config);
  const release = lockUnlessServed(dataDir);
  try {
    const database = await openDatabase(config, dataDir);
    await createIn(database, { config, dataDir, slug: accountSlug, owner }).finally(database.stop);
  } finally {
    release();
  }
}

interface Order {
  readonly config: Config;
  readonly dataDir: string;
  readonly slug: string;
  readonly owner: string | undefined;
}

async function createIn({ url }: OpenedDatabase, { config, dataDir, slug: accountSlug, owner }: Order): Promise<void> {
  const keyRing = await openKeyRing(config, dataDir, url);
  const app = await createApp({ config, databaseUrl: url, keyRing });
  try {
    const made = await app.nest.get(Accounts).create({ slug: accountSlug, ownerEmail: owner ?? config.ownerEmail });
    const lines = [`account ${made.accountId} (${accountSlug})`, `API key of its owner, shown this once: ${made.key}`];
    process.stdout.write(`${lines.join('\n')}\n`);
  } finally {
    await app.close();
  }
}

/** No server may join a PostgreSQL that ends with this program; one that holds the directory already has its own. */
function lockUnlessServed(dataDir: string): () => void {
  try {
    return lockDataDir(dataDir);
  } catch (error) {
    if (error instanceof StartRefused) return () => {};
    throw error;
  }
}

function refuse(error: unknown): void {
  if (!(error instanceof StartRefused) && !(error instanceof Fault)) throw error;
  const reasons = error instanceof Fault ? error.problems.map(({ msg }) => msg) : [];
  process.stderr.write(`${reasons.length > 0 ? reasons.join('; ') : error.message}\n`);
  process.exitCode = 1;
}
