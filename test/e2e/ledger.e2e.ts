import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { call, type CallOptions, type Json, type Method } from '../support/app.ts';
import { RestClient, eventually } from '../support/rest.ts';
import { startServer, type RunningServer } from '../support/server.ts';
import { pause, startStub, type StubWorker } from '../support/stub-worker.ts';

jest.setTimeout(60_000); // starts and restarts on a busy machine

const MiB = 1024 * 1024;

let server: RunningServer;
beforeAll(async () => {
  server = await startServer({ env: { SIGNALBOX_LOG_LEVEL: 'debug' } });
});
afterAll(() => server.stop());

const ask = (method: Method, path: string, options: CallOptions = {}) =>
  call(server.url, method, path, { key: server.key, ...options });
const stub = (handle: string): Promise<StubWorker> =>
  startStub({ url: server.url, call: (...asked) => call(server.url, ...asked) }, server.key, { handle });

/** The memory of the server's process, in bytes. */
async function residentBytes(): Promise<number> {
  const { stdout } = await promisify(execFile)('ps', ['-o', 'rss=', '-p', String(server.pid)]);
  return Number(stdout.trim()) * 1_024;
}

describe('a server that is killed', () => {
  it('K-1: has kept the agent, its account, what it can do and how it stands', async () => {
    const worker = await stub('lasting');
    const before = (await ask('GET', '/api/v1/agents/lasting')).json;
    await server.kill('SIGKILL');
    await server.restart();
    const after = (await ask('GET', '/api/v1/agents/lasting')).json;
    const lasting = ['agent_id', 'id_slug', 'name', 'version', 'agent_card', 'is_enabled', 'created_at'];
    for (const field of lasting) expect([field, after[field]]).toEqual([field, before[field]]);
    expect(after.instances).toMatchObject([{ worker_id: worker.id }]);
    const rows = await server.query('SELECT id, handle FROM agent WHERE handle = $1', ['lasting']);
    expect(rows).toEqual([{ id: before.agent_id, handle: 'lasting' }]);
  });

  it('K-73: under load leaves no change without its audit row and no audit row without its change', async () => {
    await stub('loaded');
    const answered: string[] = [];
    let isOver = false;
    const load = async (): Promise<void> => {
      while (!isOver) {
        const made = await ask('POST', '/api/v1/runs', { body: { agent_id: 'loaded' } });
        if (made.status === 200) answered.push(made.json.run_id);
        if (made.status === 200 && answered.length % 2 === 0)
          await ask('POST', `/api/v1/runs/${made.json.run_id}/cancel`, { body: {} });
      }
    };
    const loads = Array.from({ length: 12 }, () => load().catch(() => undefined)); // the connection is cut under it
    await eventually(() => expect(answered.length).toBeGreaterThan(50), { within: 30_000 });
    await server.kill('SIGKILL');
    isOver = true;
    await Promise.all(loads);
    await server.restart();
    const names = (sql: string) => server.query<{ id: string }>(sql).then((rows) => rows.map(({ id }) => id));
    const made = await names(`SELECT id FROM run ORDER BY id`);
    expect(
      await names(`SELECT detail ->> 'run_id' AS id FROM audit_entry WHERE action = 'run.create' ORDER BY 1`),
    ).toEqual(made);
    expect(
      await names(
        `SELECT target_id AS id FROM audit_entry WHERE action = 'run.cancel' AND detail ->> 'changed' = 'true' ORDER BY 1`,
      ),
    ).toEqual(await names(`SELECT id FROM run WHERE status = 'cancelled' ORDER BY id`));
    const known = new Set(made);
    expect(answered.filter((id) => !known.has(id))).toEqual([]);
  });
});

describe('the log', () => {
  it('U-60: names the request id that audit and job name too', async () => {
    const worker = await stub('traced');
    const requestId = 'one-id-through-everything';
    const answering = ask('POST', '/api/v1/agents/traced/invoke', { body: {}, headers: { 'x-request-id': requestId } });
    const job = await worker.serve();
    expect((await answering).headers.get('x-request-id')).toBe(requestId);
    expect(job.request_id).toBe(requestId);
    const audit: Json[] = (await ask('GET', `/api/v1/audit?request_id=${requestId}`)).json;
    expect(audit.map(({ action }) => action)).toContain('agent.invoke');
    await eventually(() => expect(server.log()).toContain(requestId));
  });

  it('U-42: at its most talkative holds no token, key or content of a job, of calls that fail too', async () => {
    const planted = 'planted-7f3a';
    const worker = await stub('secretive');
    const answering = ask('POST', '/api/v1/agents/secretive/invoke', {
      body: { input: { password: planted }, metadata: { note: planted } },
      headers: { cookie: `session=${planted}` },
    });
    await worker.serve({ text: planted }, [{ event_type: 'log.created', content: planted }]);
    await answering;
    await ask('GET', `/api/v1/runs?token=${planted}`, { key: planted });
    await ask('POST', '/api/v1/runs', { body: `{"agent_id":"secretive","input":"${planted}` });
    await ask('POST', '/api/v1/runs', { body: { agent_id: planted, input: { password: planted } } });
    await worker.frame('run_completed', { run_id: 'none', output: { text: planted } });
    const { json } = await ask('POST', '/api/v1/api-keys', { body: { name: 'short-lived' } });
    await ask('GET', '/api/v1/runs', { key: json.key });
    await pause(200);
    expect(server.log()).not.toBe('');
    for (const secret of [planted, worker.token, json.key, server.key]) expect(server.log()).not.toContain(secret);
  });
});

describe('U-10: memory', () => {
  it('stays flat under bodies that are far too large, with and without a credential', async () => {
    const worker = await stub('oversized');
    const body = `{"filler":"${'x'.repeat(17 * MiB)}"}`;
    const path = `/api/v1/workers/${worker.id}/frames`;
    const post = async (key: string): Promise<number> => (await ask('POST', path, { key, body })).status;
    await post(worker.token);
    const before = await residentBytes();
    const statuses: number[] = [];
    for (let round = 0; round < 15; round += 1)
      statuses.push(...(await Promise.all([post(worker.token), post('sk_nobody')])));
    expect(new Set(statuses.filter((_, index) => index % 2 === 0))).toEqual(new Set([413]));
    expect((await residentBytes()) - before).toBeLessThan(250 * MiB); // half a gigabyte was sent
    expect((await ask('GET', '/readyz')).status).toBe(200);
  });

  it('stays flat under nesting, and the server goes on', async () => {
    const before = await residentBytes();
    const body = `{"agent_id":"oversized","input":{"a":${'['.repeat(3 * MiB)}`;
    for (let round = 0; round < 20; round += 1) expect((await ask('POST', '/api/v1/runs', { body })).status).toBe(422);
    expect((await residentBytes()) - before).toBeLessThan(150 * MiB);
  });
});

describe('many readers', () => {
  it('U-62: hold no database connection, and work is handed out beside them', async () => {
    const worker = await stub('attached');
    const rest = new RestClient(server.url, server.key);
    const order = { body: { agent_id: 'attached' } };
    const { run_id: runId } = await rest.ask<{ run_id: string }>('POST', '/api/v1/runs', order);
    const streams = Array.from({ length: 90 }, () => rest.runStream(runId));
    for (const stream of streams) await stream.next();
    const [{ n } = { n: -1 }] = await server.query<{ n: number }>(
      `SELECT count(*)::int AS n FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend'`,
    );
    expect(n).toBeLessThan(30);
    expect((await worker.serve()).run_id).toBe(runId);
    for (const stream of streams) await stream.return(undefined);
  });
});

describe('a rolling restart', () => {
  it('U-27: under load answers nothing with 5xx and loses no run', async () => {
    const other = await startServer({ database: server.databaseUrl });
    const both = [server, other];
    try {
      const worker = await stub('rolling');
      const statuses: number[] = [];
      const created: string[] = [];
      let isOver = false;
      /** As a client behind a balancer does: the next replica, when one takes no connection any more. */
      const calls = async (first: number): Promise<void> => {
        for (let turn = first; !isOver; turn += 1) {
          const { url = '' } = both[turn % 2] ?? {};
          const body = { agent_id: 'rolling', input: { turn } };
          const answer = await call(url, 'POST', '/api/v1/runs', { key: server.key, body }).catch(() => undefined);
          if (answer) statuses.push(answer.status);
          if (answer?.status === 200) created.push(answer.json.run_id);
          if (!answer) await pause(20);
        }
      };
      const calling = Array.from({ length: 6 }, (_, index) => calls(index));
      await pause(500);
      for (const replica of both) {
        await replica.restart();
        await pause(500);
      }
      isOver = true;
      await Promise.all(calling);
      expect(created.length).toBeGreaterThan(50);
      expect(statuses.filter((status) => status !== 200)).toEqual([]);
      const rows = await server.query<{ status: string }>('SELECT DISTINCT status FROM run WHERE id = ANY ($1)', [
        created,
      ]);
      expect(rows).toEqual([{ status: 'queued' }]);
      for (let taken = 0; taken < 10; taken += 1) expect(created).toContain((await worker.serve()).run_id);
    } finally {
      await other.stop();
    }
  });
});

describe('authentication', () => {
  it('K-62: that is off is said loudly at the start; that it is on needs no setting', async () => {
    const warnings = (log: string) => log.split('\n').filter((line) => /"level":"(warn|error)"/.test(line));
    expect(warnings(server.log()).join()).not.toMatch(/auth/i);
    const open = await startServer({ env: { SIGNALBOX_AUTH: 'off' } });
    try {
      expect(warnings(open.log()).join()).toMatch(/SIGNALBOX_AUTH|authenticat/i);
      expect((await call(open.url, 'GET', '/api/v1/runs')).status).toBe(200);
    } finally {
      await open.stop();
    }
  });
});
