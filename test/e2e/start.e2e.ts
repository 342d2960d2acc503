import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import fs from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { DatabaseProxy } from '../support/database-proxy.ts';
import { processesOn } from '../support/processes.ts';
import { createSuiteDatabase, type SuiteDatabase } from '../support/suite-database.ts';
import { Program, type Ending } from './program.ts';

jest.setTimeout(60_000); // new clusters on a busy machine

let root: string;
/** Whatever any of the programs wrote. */
const written: string[] = [];
/** What must not be among it. */
const secrets: string[] = [];

beforeAll(() => {
  root = fs.mkdtempSync(path.join(os.tmpdir(), 'signalbox start ')); // the spaces are the point
  fs.chmodSync(root, 0o755); // mkdtemp makes 0700, which the account that root lends cannot enter
});
afterAll(() => fs.rmSync(root, { recursive: true, force: true }));

describe('U-64: a start that cannot go on', () => {
  const CASES: readonly (readonly [setting: string, env: Readonly<Record<string, string>>, said?: string])[] = [
    ['PORT', { PORT: '80a' }],
    ['SIGNALBOX_AUTH', { SIGNALBOX_AUTH: 'off', HOST: '0.0.0.0' }],
    ['SIGNALBOX_TRUSTED_PROXIES', { SIGNALBOX_TRUSTED_PROXIES: '10.0.0.0/33' }],
    ['SIGNALBOX_BOOTSTRAP_API_KEY', { SIGNALBOX_BOOTSTRAP_API_KEY: 'too-short-a-secret' }],
    ['SIGNALBOX_DATA_DIR', { SIGNALBOX_DATA_DIR: process.execPath }],
    ['HOST', { HOST: '203.0.113.1' }],
    ['SIGNALBOX_CLOCK_OFFSET_SECONDS', { SIGNALBOX_CLOCK_OFFSET_SECONDS: '120' }, 'NODE_ENV=test'],
    ['DATABASE_URL', { DATABASE_URL: 'postgresql://user:pass-word@127.0.0.1:1/none' }, 'ECONNREFUSED'],
  ];

  it.each(CASES)('names %s in one sentence, and leaves nothing behind', async (setting, env, said = '') => {
    const directory = path.join(root, `refused-${setting}`);
    const ending = await new Program('main', { PORT: '0', SIGNALBOX_DATA_DIR: directory, ...env }).ended;
    expectRefusal(ending, setting);
    expect(ending.stderr).toContain(said);
    expect(ending.stderr).not.toMatch(/too-short-a-secret|pass-word/);
    expect([processesOn(directory), fs.existsSync(path.join(directory, 'lock'))]).toEqual([[], false]);
  });

  it('names the keys, and a database that is ahead of this build', async () => {
    const database = await createSuiteDatabase();
    const start = (env: Readonly<Record<string, string>>) =>
      new Program('main', {
        PORT: '0',
        DATABASE_URL: database.url,
        SIGNALBOX_DATA_DIR: path.join(root, 'given'),
        ...env,
      }).ended;
    try {
      expectRefusal(await start({ SIGNALBOX_KEYS: '{}' }), 'SIGNALBOX_KEYS');
      await database.query(
        `INSERT INTO _prisma_migrations (id, checksum, migration_name, finished_at) VALUES ('x', 'x', '20990101000000_later', now())`,
      );
      const ending = await start({});
      expectRefusal(ending, 'DATABASE_URL');
      expect(ending.stderr).toContain('it has 20990101000000_later');
    } finally {
      await database.drop();
    }
  });

  it('or is called off, leaves nothing behind either', async () => {
    const directory = path.join(root, 'called-off');
    const program = new Program('main', { PORT: '0', SIGNALBOX_DATA_DIR: directory });
    while (processesOn(directory).length === 0) await sleep(10);
    const ending = await program.end('SIGTERM');
    expect([ending.code, ending.stderr]).toEqual([0, '']);
    expect(ending.stdout).not.toContain('"level":"error"');
    while (processesOn(directory).length > 0) await sleep(20); // jest's timeout is the limit
    expect(fs.existsSync(path.join(directory, 'lock'))).toBe(false);
  });
});

describe('an installation with nothing but a data directory', () => {
  const env = { PORT: '0' };
  let directory: string;
  let program: Program;
  let url: string;
  let key: string;

  const start = async (more: Readonly<Record<string, string>> = {}): Promise<void> => {
    program = new Program('main', { ...env, SIGNALBOX_DATA_DIR: directory, ...more });
    url = await program.url();
  };
  const admin = async (...args: string[]): Promise<Ending> => {
    const ending = await new Program('admin', { SIGNALBOX_DATA_DIR: directory }, args).ended;
    return ending;
  };
  beforeAll(() => void (directory = path.join(root, 'data dir')));
  afterAll(() => program.end('SIGKILL'));

  it('starts, keeps its files from others, and shows the owner’s key once', async () => {
    await start();
    key = fs.readFileSync(path.join(directory, 'bootstrap-api-key'), 'utf8').trim();
    secrets.push(key);
    expect(fs.readdirSync(directory).sort()).toEqual(['bootstrap-api-key', 'keys.json', 'lock', 'pg']);
    for (const name of ['bootstrap-api-key', 'keys.json', 'lock']) expect([name, modeOf(name)]).toEqual([name, 0o600]);
    expect(modeOf('pg')).toBe(0o700);
    expect(program.stdout.split(key)).toHaveLength(2);
    expect(await statusOf('/api/v1/runs', key)).toBe(200);
    expect(await statusOf('/api/v1/runs', 'sk_wrong')).toBe(401);
    expect([await statusOf('/healthz'), await statusOf('/readyz')]).toEqual([200, 200]);
  });

  it('refuses a second program on its directory, and goes on itself', async () => {
    const ending = await new Program('main', { ...env, SIGNALBOX_DATA_DIR: directory }).ended;
    expectRefusal(ending, 'SIGNALBOX_DATA_DIR');
    expect(ending.stderr).toContain(`which process ${program.pid} is using`);
    expect(await statusOf('/readyz')).toBe(200);
  });

  it('takes a further account from the command line while it runs', async () => {
    const made = await admin('account', 'create', 'second', '--owner', 'second@example.com');
    const [, second = ''] = /API key of its owner, shown this once: (\S+)\n/.exec(made.stdout) ?? [];
    expect([made.code, made.stderr, second.length > 32]).toEqual([0, '', true]);
    expect(await statusOf('/api/v1/runs', second)).toBe(200);
    const [again, wrong, none] = await Promise.all([
      admin('account', 'create', 'second'),
      admin('account', 'create', 'No Slug!'),
      admin('account'),
    ]);
    expect([again.code, again.stdout, again.stderr]).toEqual([1, '', 'There is an account second already\n']);
    expect([wrong.code, wrong.stdout]).toEqual([1, '']);
    expect(wrong.stderr).toMatch(/^An account’s name has [^:\n]*\n$/);
    expect([none.code, none.stderr]).toEqual([2, expect.stringMatching(/^Usage: /)]);
    expect(await statusOf('/readyz')).toBe(200);
    secrets.push(second);
  });

  it('leaves no PostgreSQL behind when it is killed, starts again, and finds its data', async () => {
    const before = processesOn(directory).length;
    expect(before).toBeGreaterThan(0);
    written.push((await program.end('SIGKILL')).stdout);
    while (processesOn(directory).length > 0) await sleep(20); // jest's timeout is the limit
    expect(fs.existsSync(path.join(directory, 'lock'))).toBe(true);
    await start({ SIGNALBOX_BOOTSTRAP_API_KEY: randomBytes(20).toString('hex') }); // is for the very first start only
    expect(await statusOf('/api/v1/runs', key)).toBe(200);
    expect(program.stdout).not.toContain('API key');
  });

  it('F-39, U-27: ends on SIGTERM within ten seconds, whoever hangs on, and answers a waiting invoke with the run as it stands', async () => {
    const token = await workerToken('sleeper');
    const clients = await Promise.all(Array.from({ length: 20 }, (_, index) => holdChannel(`w${index}`, token)));
    const unfinished = net.connect(portOf(url), '127.0.0.1');
    unfinished
      .on('error', () => {})
      .write('POST /api/v1/runs HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\nContent-Type: application/json\r\n\r\n{');
    const waiting = fetch(`${url}/api/v1/agents/sleeper/invoke`, {
      method: 'POST',
      headers: { ...bearer(key), 'content-type': 'application/json' },
      body: '{"input":{}}',
    });
    while ((await runs()).length === 0) await sleep(20);
    const ending = await program.end('SIGTERM');
    written.push(ending.stdout);
    expect([ending.code, ending.signal, ending.stderr]).toEqual([0, null, '']);
    expect(ending.ms).toBeLessThan(10_000);
    const answer = await waiting;
    expect([answer.status, await answer.json()]).toEqual([
      200,
      expect.objectContaining({ status: 'queued', output: null, error: null }),
    ]);
    expect(leftovers()).toEqual([]);
    for (const client of [...clients, unfinished]) client.destroy();
  });

  it('refuses a port that is taken, before anything is made', async () => {
    const taken = net.createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as net.AddressInfo;
    const ending = await new Program('main', { SIGNALBOX_DATA_DIR: directory, PORT: String(port) }).ended;
    taken.close();
    expectRefusal(ending, 'PORT');
    expect(ending.stderr).toContain(String(port));
    expect([leftovers(), ending.stdout]).toEqual([[], '']);
  });

  it('takes a further account from the command line while it does not run', async () => {
    const made = await admin('account', 'create', 'third');
    expect([made.code, made.stderr, leftovers()]).toEqual([0, '', []]);
  });

  it('U-42: has written JSON lines without a secret in them', () => {
    const lines = written
      .join('\n')
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('API key of the owner'));
    expect(lines.length).toBeGreaterThan(5);
    for (const line of lines)
      expect(JSON.parse(line)).toMatchObject({
        time: expect.any(String),
        level: expect.any(String),
        msg: expect.any(String),
      });
    expect(lines.some((line) => line.includes('"request_id"'))).toBe(true);
    for (const secret of secrets) expect(lines.filter((line) => line.includes(secret))).toEqual([]);
  });

  /** What an ended program should have taken with it. */
  function leftovers(): string[] {
    return [...processesOn(directory), ...fs.readdirSync(directory).filter((name) => name.startsWith('lock'))];
  }

  function modeOf(name: string): number {
    return fs.statSync(path.join(directory, name)).mode & 0o777;
  }

  async function statusOf(route: string, secret?: string): Promise<number> {
    const response = await fetch(url + route, { headers: secret === undefined ? {} : bearer(secret) });
    await response.arrayBuffer();
    return response.status;
  }

  async function runs(): Promise<unknown[]> {
    return (await (await fetch(`${url}/api/v1/runs`, { headers: bearer(key) })).json()) as unknown[];
  }

  /** A token, and the agent that a first worker registers with it. */
  async function workerToken(handle: string): Promise<string> {
    const post = (route: string, secret: string, body: object) =>
      fetch(url + route, {
        method: 'POST',
        headers: { ...bearer(secret), 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
    const { token } = (await (await post('/api/v1/agents/worker-token', key, { agentId: handle })).json()) as {
      token: string;
    };
    secrets.push(token);
    const manifest = {
      agent_id: handle,
      name: handle,
      version: '1',
      wire_protocol_version: 2,
      sdk_version: '0.4.13',
      agent_card: { name: handle, use_cases: [{ slug: 'x' }] },
    };
    const frame = {
      id: 'msg_1',
      type: 'register',
      needsReply: true,
      payload: { manifest, skills: [], skills_hash: '' },
    };
    expect((await post('/api/v1/workers/first/frames', token, frame)).status).toBe(200);
    return token;
  }

  /** A client that opens a worker's channel and never reads from it. */
  async function holdChannel(worker: string, token: string): Promise<net.Socket> {
    const socket = net.connect(portOf(url), '127.0.0.1').pause();
    socket.on('error', () => {});
    socket.write(
      `GET /api/v1/workers/${worker}/channel HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\nAuthorization: Bearer ${token}\r\n\r\n`,
    );
    await once(socket, 'connect');
    return socket;
  }
});

describe('a replica on a database of others', () => {
  let database: SuiteDatabase;
  beforeAll(async () => void (database = await createSuiteDatabase()));
  afterAll(() => database.drop());
  const start = (databaseUrl: string) =>
    new Program('main', { PORT: '0', DATABASE_URL: databaseUrl, SIGNALBOX_DATA_DIR: path.join(root, 'replica') });

  it('U-27: is drained without an error for those who go on calling', async () => {
    const program = start(database.url);
    try {
      const url = await program.url();
      const statuses: number[] = [];
      const agent = new http.Agent({ keepAlive: true });
      const calling = Array.from({ length: 8 }, () => callUntilRefused(`${url}/api/openapi.json`, agent, statuses));
      while (statuses.length < 50) await sleep(5);
      const before = statuses.length;
      const ending = await program.end('SIGTERM');
      await Promise.all(calling);
      expect([ending.code, ending.stderr]).toEqual([0, '']);
      expect(statuses.length).toBeGreaterThan(before);
      expect(new Set(statuses)).toEqual(new Set([200]));
    } finally {
      await program.end('SIGKILL');
    }
  });

  it('U-28: without it stays alive, takes no work, and ends on SIGTERM as quickly', async () => {
    const { proxy, url: databaseUrl } = await DatabaseProxy.before(database.url);
    const program = start(databaseUrl);
    try {
      const url = await program.url();
      expect((await fetch(`${url}/readyz`)).status).toBe(200);
      await proxy.close();
      expect((await fetch(`${url}/healthz`)).status).toBe(200);
      const readyz = await fetch(`${url}/readyz`);
      expect([readyz.status, readyz.headers.get('retry-after'), await readyz.json()]).toMatchObject([
        503,
        '2',
        { code: 'server.not_ready' },
      ]);
      const ending = await program.end('SIGTERM');
      expect([ending.code, ending.stderr]).toEqual([0, '']);
      expect(ending.ms).toBeLessThan(10_000);
    } finally {
      await program.end('SIGKILL');
    }
  });
});

/** Calls one time after the other until nobody listens any more. A connection that is closed under a call is no answer. */
async function callUntilRefused(url: string, agent: http.Agent, statuses: number[]): Promise<void> {
  for (;;) {
    try {
      const [response] = (await once(http.get(url, { agent }), 'response')) as [http.IncomingMessage];
      statuses.push(response.resume().statusCode ?? 0);
      await once(response, 'end');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ECONNREFUSED') return;
    }
  }
}

function expectRefusal({ code, stderr, stdout }: Ending, setting: string): void {
  expect([code, stderr]).toEqual([1, expect.stringContaining(setting)]);
  expect(stderr.trimEnd().split('\n')).toHaveLength(1);
  expect(stdout).not.toContain('"level":"error"');
}

function bearer(secret: string): { readonly authorization: string } {
  return { authorization: `Bearer ${secret}` };
}

function portOf(url: string): number {
  return Number(new URL(url).port);
}
