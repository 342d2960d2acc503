import { spawnSync } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startApp, type Json, type RunningApp } from '../../support/app.ts';
import { StubWorker, pause, startStub } from '../../support/stub-worker.ts';
import { dump } from '../vault/leaks.ts';
import type { Account } from '../workers/wire.ts';

const URL = 'https://signalbox.example.test/base';

let app: RunningApp;
let account: Account & { readonly accountId: string };
let agents = 0;

beforeAll(async () => {
  app = await startApp({ env: { PUBLIC_URL: URL } });
  account = await app.account();
});
afterAll(() => app.stop());

const newName = (): string => `install-${(agents += 1)}`;
const create = (body: object, headers = {}) =>
  app.call('POST', '/api/v1/agents', { key: account.key, body: { instructions: 'Answer.', ...body }, headers });
const show = (ref: string) => app.call('GET', `/api/v1/agents/${ref}`, { key: account.key });
const tokenIn = (command: string): string => /swt_[\w-]{43}/.exec(command)?.[0] ?? '';
const register = (handle: string, token: string) => new StubWorker(app.url, token, { handle }).register();

describe('POST /agents', () => {
  it('answers a token that works, in its texts alone, and deploys nothing', async () => {
    const name = newName();
    const { status, json } = await create({ agentId: name });
    const token = tokenIn(json.command);
    expect([status, json]).toEqual([
      200,
      {
        ...{ agentId: name, workerTokenHint: `swt_…${token.slice(-4)}`, expiresAt: null },
        command: `AGENTOPS_URL='${URL}' AGENTOPS_WORKER_TOKEN='${token}' AGENTOPS_AGENT_ID='${name}' AGENTOPS_MODEL='claude-sonnet-4-6' python worker.py`,
        values: expect.stringContaining(`\n  AGENTOPS_WORKER_TOKEN: "${token}"\n`),
      },
    ]);
    expect((await show(name)).status).toBe(404);
    const { json: tokens } = await app.call('GET', '/api/v1/agents/worker-tokens', { key: account.key });
    expect(tokens).toContainEqual(expect.objectContaining({ idSlug: name, agentStatus: 'unregistered', exists: true }));
    expect((await register(name, token)).status).toBe(200);
    expect((await show(name)).json).toMatchObject({ id_slug: name, status: 'online' });
  });

  it('keeps the token and the model’s key nowhere: no table, no record, no log, no other answer', async () => {
    const logged: string[] = [];
    const write = process.stdout.write.bind(process.stdout);
    process.stdout.write = (chunk: string | Uint8Array) => (logged.push(String(chunk)), true);
    const name = newName();
    const key = 'sk-planted-0123456789';
    const headers = { 'idempotency-key': name };
    const { json } = await create({ agentId: name, anthropicApiKey: key }, headers).finally(
      () => (process.stdout.write = write),
    );
    const token = tokenIn(json.command);
    expect(json.values).toContain(`ANTHROPIC_API_KEY: "${key}"`);
    const audit = await app.call('GET', '/api/v1/audit?limit=200', { key: account.key });
    expect(audit.text).toContain('agent.create');
    const kept = [
      await dump(app),
      audit.text,
      logged.join(''),
      (await create({ agentId: name, anthropicApiKey: key, unknown: 1 })).text,
    ].join('\n');
    for (const secret of [token, key, Buffer.from(token).toString('base64')]) expect(kept).not.toContain(secret);
  });

  it('asked again it answers with another token, and the one before is dead, also under one idempotency key', async () => {
    const name = newName();
    const first = tokenIn((await create({ agentId: name }, { 'idempotency-key': name })).json.command);
    const again = tokenIn((await create({ agentId: name }, { 'idempotency-key': name })).json.command);
    expect(again).not.toBe(first);
    expect((await register(name, first)).status).toBe(401);
    expect((await register(name, again)).status).toBe(200);
    const rows: Json[] = await app.database.query(
      `SELECT outcome, detail FROM audit_entry WHERE account_id = $1 AND action = 'agent.create' AND detail ->> 'handle' = $2 ORDER BY at, id`,
      [account.accountId, name],
    );
    const [one, two] = rows;
    expect(rows).toMatchObject([
      { outcome: 'done', detail: { rotated_token_id: null } },
      { outcome: 'done', detail: { rotated_token_id: one?.detail.token_id } },
    ]);
    expect(two?.detail.token_id).not.toBe(one?.detail.token_id);
  });

  it('from many at once leaves one token that works', async () => {
    const name = newName();
    const made = await Promise.all(Array.from({ length: 8 }, () => create({ agentId: name })));
    const states = await Promise.all(made.map(({ json }) => register(name, tokenIn(json.command))));
    expect(states.map(({ status }) => status).sort()).toEqual([200, ...Array.from({ length: 7 }, () => 401)]);
  });

  it('of a draft speaks for the draft’s id; of a live agent is 409, and its worker’s token lives on', async () => {
    const name = newName();
    const { json: draft } = await app.call('POST', '/api/v1/agents/drafts', {
      key: account.key,
      body: { agent_id: name },
    });
    const token = tokenIn((await create({ agentId: name })).json.command);
    expect((await show(name)).json.status).toBe('draft');
    const worker = await startStub(app, account.key, { handle: name, token });
    expect((await show(name)).json).toMatchObject({ agent_id: draft.agent_id, status: 'online' });
    for (const ref of [name, draft.agent_id]) {
      const { status, json } = await create({ agentId: ref });
      expect([status, json.code]).toEqual([409, 'agent.live']);
    }
    expect((await worker.frame('run_claim')).status).toBe(200);
  });

  it('a token lives for as long as was said, and for ever where nothing or null was', async () => {
    const name = newName();
    const { json } = await create({ agentId: name, ttlSeconds: 1 });
    expect(Date.parse(json.expiresAt) - Date.now()).toBeLessThanOrEqual(1_000);
    await pause(1_200);
    expect(await register(name, tokenIn(json.command))).toMatchObject({
      status: 401,
      payload: { code: 'auth.expired' },
    });
    expect((await create({ agentId: name, ttlSeconds: null })).json.expiresAt).toBeNull();
    const day = Date.parse((await create({ agentId: name, ttlSeconds: 86_400 })).json.expiresAt) - Date.now();
    expect(Math.round(day / 60_000)).toBe(1_440);
  });

  it('carries whatever is in its texts to the worker’s environment', async () => {
    const name = `it's $(a) "name" ; \`x\` 😀`;
    const { json } = await create({ agentId: name, displayName: `O'Neil\n"$HOME"`, model: 'm' });
    const shown = json.command.replace(/python worker\.py$/, 'env -0');
    const { stdout } = spawnSync('sh', ['-c', shown], { encoding: 'utf8', env: { PATH: process.env['PATH'] } });
    const lines = stdout.split('\0');
    expect(lines).toContain(`AGENTOPS_AGENT_ID=${name}`);
    expect(lines).toContain(`AGENTOPS_AGENT_NAME=O'Neil\n"$HOME"`);
  });

  it('names a credential of the account for the model’s key, and no other', async () => {
    const name = newName();
    const missing = await create({ agentId: name, credentialRef: 'model-key' });
    expect([missing.status, missing.json.detail[0].loc]).toEqual([422, ['body', 'credentialRef']]);
    const { key } = await app.account();
    const body = { name: 'model-key', value: 'sk-stored' };
    await app.call('POST', '/api/v1/credentials', { key, body });
    const foreign = await create({ agentId: name, credentialRef: 'model-key' });
    expect([foreign.status, foreign.json.detail]).toEqual([422, missing.json.detail]);
    await app.call('POST', '/api/v1/credentials', { key: account.key, body });
    const { json } = await create({ agentId: name, credentialRef: 'model-key' });
    expect(json.values).toContain('AGENTOPS_LLM_CREDENTIAL_REF: "model-key"');
    expect(json.values).not.toContain('sk-stored');
  });

  it.each([
    [{}, ['body', 'agentId']],
    [{ agentId: 'a', instructions: undefined }, ['body', 'instructions']],
    [{ agentId: 'a/b' }, ['body', 'agentId']],
    [{ agentId: 'a', ttlSeconds: 0 }, ['body', 'ttlSeconds']],
    [{ agentId: 'a', ttlSeconds: 86_401 }, ['body', 'ttlSeconds']],
    [{ agentId: 'a', ttlSeconds: 1.5 }, ['body', 'ttlSeconds']],
    [{ agentId: 'a', ttlSeconds: '60' }, ['body', 'ttlSeconds']],
    [{ agentId: 'a', replicaCount: 0 }, ['body', 'replicaCount']],
    [{ agentId: 'a', replicaCount: null }, ['body', 'replicaCount']],
    [{ agentId: 'a', model: 7 }, ['body', 'model']],
    [{ agentId: 'a', mcpServers: [{}] }, ['body', 'mcpServers', 0, 'name']],
    [{ agentId: 'a', mcpServers: ['x'] }, ['body', 'mcpServers', 0]],
    [{ agentId: 'a', skills: [{ id: 's' }] }, ['body', 'skills', 0, 'content']],
    [{ agentId: 'a', skills: [{ id: 's', content: '', more: 1 }] }, ['body', 'skills', 0]],
    [{ agentId: 'a', instructions: '\ud800' }, ['body', 'instructions']],
    [{ agentId: 'a', more: 1 }, ['body']],
  ])('%j is 422 at %j, and makes no token', async (body, loc) => {
    const { status, json } = await create(body);
    expect([status, json.detail[0].loc]).toEqual([422, loc]);
    const named = await app.call('GET', '/api/v1/agents/a/token', { key: account.key });
    expect(named.json.exists).toBe(false);
  });
});
