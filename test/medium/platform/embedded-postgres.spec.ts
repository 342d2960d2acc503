import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import pg from 'pg';
import { readConfig } from '../../../src/platform/config/config.ts';
import { openDatabase } from '../../../src/start.ts';
import { processesOn } from '../../support/processes.ts';

/** A process that runs the launcher, and what it says of its server. */
interface Holder {
  readonly process: ChildProcess;
  readonly url: string;
  readonly pid: number;
  readonly shared: boolean;
}

jest.setTimeout(60_000); // new clusters on a busy machine

const LAUNCHER = path.resolve('src/platform/embedded-postgres/launcher.ts');
const holders: Holder[] = [];
let root: string;
beforeAll(() => {
  root = fs.mkdtempSync(path.join(os.tmpdir(), 'embedded postgres ')); // the spaces are the point
  fs.chmodSync(root, 0o755); // mkdtemp makes 0700, which the account that root lends cannot enter
});
afterEach(async () => {
  for (const { process: holder } of holders.splice(0)) await end(holder, 'SIGTERM');
});
afterAll(() => fs.rmSync(root, { recursive: true, force: true }));

describe('a private PostgreSQL', () => {
  it('is one server when two processes start at once on one new directory, and another on another', async () => {
    const [one, two, other] = await Promise.all([hold('one'), hold('one'), hold('other')]);
    expect(one.pid).toBe(two.pid);
    expect([one.shared, two.shared].sort()).toEqual([false, true]);
    expect(other.pid).not.toBe(one.pid);
    expect(await ask(one.url, 'SHOW data_directory')).not.toEqual(await ask(other.url, 'SHOW data_directory'));
  });

  it('takes two new databases at once, whose migrations make the same roles, also as a login that is no superuser', async () => {
    const { url } = await hold('other');
    await ask(url, `CREATE ROLE installer LOGIN CREATEROLE PASSWORD 'not-so-secret'`);
    const names = ['suite_left', 'suite_right'];
    for (const name of names) await ask(url, `CREATE DATABASE ${name} OWNER installer`);
    const login = { username: 'installer', password: 'not-so-secret' };
    const urls = names.map((name) => Object.assign(new URL(url), { pathname: `/${name}`, ...login }).toString());
    await Promise.all(urls.map((databaseUrl) => openDatabase(readConfig({ DATABASE_URL: databaseUrl }), root)));
    for (const databaseUrl of urls) {
      for (const role of ['signalbox_app', 'signalbox_system']) {
        expect(
          await ask(
            `${databaseUrl}?options=-c%20role%3D${role}`,
            'SELECT current_user::text AS role, (SELECT count(*)::int FROM run) AS runs',
          ),
        ).toEqual({ role, runs: 0 });
      }
    }
  });

  it('does not outlive its owner, however that ends, and keeps the data', async () => {
    const first = await hold('one');
    await ask(first.url, 'CREATE TABLE kept AS SELECT 42 AS n');
    await end(first.process, 'SIGKILL');
    await until(() => !isAlive(first.pid));
    const second = await hold('one');
    expect(await ask(second.url, 'SELECT n FROM kept')).toEqual({ n: 42 });
    await end(second.process, 'SIGTERM');
    await until(() => !isAlive(second.pid));
  });

  it('does not outlive an owner that ends at the very moment of its start', async () => {
    const log = path.join(root, 'one', 'pg', 'postgres.log');
    for (let turn = 0; turn < 3; turn += 1) {
      fs.rmSync(log, { force: true });
      const endAtOnce = `fs.watch(${JSON.stringify(path.dirname(log))}, () => { if (fs.existsSync(${JSON.stringify(log)})) process.exit(); });`;
      await once(launch('one', endAtOnce), 'exit');
      await until(() => processesOn(path.join(root, 'one')).length === 0);
    }
  });

  it('starts over a postmaster.pid that a dead one left, even if that number now belongs to another process', async () => {
    const first = await hold('one');
    const { data_directory: data } = await ask(first.url, 'SHOW data_directory');
    const file = path.join(String(data), 'postmaster.pid');
    const content = fs.readFileSync(file, 'utf8');
    await end(first.process, 'SIGTERM');
    await until(() => !isAlive(first.pid));
    fs.writeFileSync(file, content.replace(/^\d+/, String(process.pid)), { mode: 0o600 });
    expect((await hold('one')).shared).toBe(false);
  });

  it('listens on this machine only, asks for its password, and keeps it from others', async () => {
    const { url } = await hold('one');
    expect(await ask(url, 'SHOW listen_addresses')).toEqual({ listen_addresses: '127.0.0.1' });
    const wrong = Object.assign(new URL(url), { password: 'wrong' }).toString();
    await expect(ask(wrong, 'SELECT 1')).rejects.toThrow('password authentication failed');
    const { data_directory: data } = await ask(url, 'SHOW data_directory');
    expect(fs.statSync(path.join(String(data), 'signalbox.password')).mode & 0o077).toBe(0);
    expect(fs.statSync(path.dirname(String(data))).mode & 0o777).toBe(0o700);
  });
});

/** A process that starts a server, or joins one, and lives until it is ended. */
function launch(name: string, meanwhile = ''): ChildProcess & { readonly stdout: Readable } {
  const options = JSON.stringify({ stateDir: path.join(root, name), durability: 'disposable' });
  const source = `import fs from 'node:fs';
    import { startEmbeddedPostgres } from ${JSON.stringify(LAUNCHER)};
    ${meanwhile}
    const server = await startEmbeddedPostgres(${options});
    console.log(JSON.stringify({ url: server.url('postgres'), pid: server.pid, shared: server.shared }));
    process.once('SIGTERM', () => void server.stop().then(() => process.exit(0)));
    setInterval(() => {}, 1000);`;
  return spawn(process.execPath, ['--input-type=module', '-e', source], { stdio: ['ignore', 'pipe', 'inherit'] });
}

/** The same, once its server is ready. */
async function hold(name: string): Promise<Holder> {
  const child = launch(name);
  for await (const line of createInterface({ input: child.stdout })) {
    const holder = { process: child, ...(JSON.parse(line) as Omit<Holder, 'process'>) };
    holders.push(holder);
    return holder;
  }
  throw new Error(`The launcher ended with ${child.exitCode ?? 'a signal'}`);
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill(signal);
  await once(child, 'exit');
}

async function ask(url: string, sql: string): Promise<Record<string, unknown>> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows[0] ?? {};
  } finally {
    await client.end();
  }
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await sleep(20); // jest's timeout is the limit
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
