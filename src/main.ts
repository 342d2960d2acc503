import { once } from 'node:events';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { createApp, type Application } from './app.ts';
import { Accounts } from './identity/index.ts';
import { StartRefused, readConfig, type Config } from './platform/config/config.ts';
import { newSecret } from './platform/crypto/secrets.ts';
import { lockDataDir } from './platform/config/data-dir-lock.ts';
import { Log, describeError, setLogLevel } from './platform/log/log.ts';
import { openDataDir, openDatabase, openKeyRing } from './start.ts';

const log = new Log('main');
/** This long after short requests had their time, a drain is given up: an ingress has long taken the replica out. */
const EXIT_AFTER_MS = 2_500;

/** What must end when the process ends, newest first. */
const endings: (() => Promise<void> | void)[] = [];
/** A start that is called off fails somewhere, and that is no news. */
let isCalledOff = false;

await start().catch(refuse);

async function start(): Promise<void> {
  const config = readConfig(process.env);
  setLogLevel(config.logLevel);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void stop(signal, config));
  const dataDir = openDataDir(config);
  endings.push(lockDataDir(dataDir));
  await assertAddressFree(config);
  const database = await openDatabase(config, dataDir);
  endings.push(database.stop);
  const keyRing = await openKeyRing(config, dataDir, database.url);
  const app = await createApp({ config, databaseUrl: database.url, keyRing });
  endings.push(() => app.close());
  await bootstrap(app, config, dataDir);
  await listen(app, config);
}

/** Before anything is made: the database, and the first account, are of no use to a program that nobody can reach. */
async function assertAddressFree(config: Config): Promise<void> {
  const probe = net.createServer();
  try {
    await once(probe.listen(config.port, config.host), 'listening');
    await once(probe.close(), 'close');
  } catch (error) {
    throw addressRefusal(error, config);
  }
}

async function listen({ nest }: Application, config: Config): Promise<void> {
  const { port, host, auth, redisUrl } = config;
  await nest.listen(port, host).catch((error: unknown) => {
    throw addressRefusal(error, config);
  });
  if (auth === 'off')
    log.warn('SIGNALBOX_AUTH=off: EVERY CALLER IS THE OWNER. Never do this where others can reach it.');
  if (redisUrl !== undefined) log.warn('REDIS_URL is set, but this build keeps to PostgreSQL');
  log.info('listening', { url: await nest.getUrl() });
}

function addressRefusal(cause: unknown, { port, host }: Config): unknown {
  const { code = '' } = cause as NodeJS.ErrnoException;
  if (code === 'EADDRINUSE')
    return new StartRefused(`PORT ${port} is taken on ${host}: set PORT to another one`, { cause });
  if (code === 'EACCES')
    return new StartRefused(`PORT ${port} is not open to this user: set PORT to another one`, { cause });
  if (/^(EADDRNOTAVAIL|ENOTFOUND|EAI_AGAIN|EINVAL)$/.test(code))
    return new StartRefused(`HOST ${host} is no address of this machine`, { cause });
  return cause;
}

/**
 * The first account's key goes into a file that only its owner reads, and to the screen once. The file is written first:
 * a process that is killed between the two leaves a key in a file that opens nothing yet, and the next start uses it.
 */
async function bootstrap({ nest }: Application, config: Config, dataDir: string): Promise<void> {
  const { ownerEmail, bootstrapApiKey } = config;
  const file = path.join(dataDir, 'bootstrap-api-key');
  const wasThere = fs.existsSync(file);
  const apiKey = bootstrapApiKey ?? (wasThere ? fs.readFileSync(file, 'utf8').trim() : newSecret('sk'));
  if (!wasThere) fs.writeFileSync(file, `${apiKey}\n`, { mode: 0o600 });
  const { created } = await nest.get(Accounts).bootstrap({ ownerEmail, apiKey });
  if (!created) return wasThere ? undefined : fs.rmSync(file); // another replica made the account, with another key
  fs.writeFileSync(file, `${apiKey}\n`);
  fs.chmodSync(file, 0o600);
  log.info('the first account was made; its owner’s API key is kept in a file', { file });
  if (bootstrapApiKey === undefined) process.stdout.write(`\nAPI key of the owner (shown this once): ${apiKey}\n\n`);
}

async function stop(reason: string, { drainSeconds }: Config): Promise<void> {
  isCalledOff = true;
  log.info('draining', { reason });
  setTimeout(() => process.exit(1), drainSeconds * 1_000 + EXIT_AFTER_MS).unref();
  await end();
  process.exit(0);
}

async function end(): Promise<void> {
  for (const ending of endings.splice(0).reverse()) {
    await Promise.resolve(ending()).catch((error: unknown) =>
      log.warn('something did not end well', { error: describeError(error) }),
    );
  }
}

/** One sentence that names what to change; nothing is left behind. */
async function refuse(error: unknown): Promise<void> {
  if (isCalledOff) return;
  if (error instanceof StartRefused) process.stderr.write(`${error.message}\n`);
  else log.error('the start failed', { error: describeError(error) });
  await end();
  process.exit(1);
}
