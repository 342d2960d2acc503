import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { CredentialWatch, Credentials } from '../../../src/identity/index.ts';
import { Identifier } from '../../../src/platform/operation/ports.ts';
import { Outbox } from '../../../src/platform/outbox/outbox.ts';
import { Sweeper } from '../../../src/platform/sweep/sweep.ts';
import { startApp, type Json, type RunningApp } from '../../support/app.ts';

const TOKEN = '/api/v1/agents/worker-token';
const TOKENS = '/api/v1/agents/worker-tokens';

let app: RunningApp;
let account: { readonly accountId: string; readonly key: string };
const revoked: Json[] = [];

beforeAll(async () => {
  app = await startApp();
  app.nest.get(Outbox).subscribe('worker_token.revoked', async ({ payload }) => void revoked.push(payload));
});
beforeEach(async () => void (account = await app.account()));
afterAll(() => app.stop());

async function rotate(agentId: string, more: object = {}): Promise<Json> {
  const { status, json } = await app.call('POST', TOKEN, { key: account.key, body: { agentId, ...more } });
  expect({ status, json }).toMatchObject({ status: 200 });
  return json;
}

function statusOf(agentId: string, key = account.key): Promise<Json> {
  return app.call('GET', `/api/v1/agents/${encodeURIComponent(agentId)}/token`, { key });
}

/** Who the token says its bearer is. */
function identify(bearer: string): Promise<Json> {
  return app.nest.get(Identifier).identify({ bearer, address: '127.0.0.1' });
}

/** An agent as its first registration leaves it. */
async function registered(handle: string, agentId: string): Promise<void> {
  const insert = 'INSERT INTO agent (account_id, id, handle, name) VALUES ($1, $2, $3, $4)';
  await app.database.query(insert, [account.accountId, agentId, handle, `The ${handle}`]);
}

describe('making and rotating', () => {
  it('K-59: a token for a handle without an agent fixes account, handle and the id that the agent will have', async () => {
    const made = await rotate('nobody yet');
    expect(made).toEqual({
      token: expect.stringMatching(/^swt_[\w-]{43}$/),
      agentId: 'nobody yet',
      workerTokenHint: `swt_…${String(made.token).slice(-4)}`,
      expiresAt: null,
    });
    expect(await identify(made.token)).toMatchObject({
      kind: 'agent',
      id: expect.stringMatching(/^agent_/),
      accountId: account.accountId,
      agentHandle: 'nobody yet',
    });
  });

  it('K-13: the old token fails on the very next request, the new one works at once, the id stays', async () => {
    const old = await rotate('probe');
    const before = await identify(old.token);
    const fresh = await rotate('probe');
    await expect(identify(old.token)).rejects.toMatchObject({ code: 'auth.revoked' });
    expect(await identify(fresh.token)).toMatchObject({ id: before.id, agentHandle: 'probe' });
    expect((await app.call('GET', TOKENS, { key: old.token })).status).toBe(401);
    expect((await app.call('GET', TOKENS, { key: fresh.token })).status).toBe(403);
  });

  it('of rotations at the same time one token is left that works', async () => {
    const made = await Promise.all(Array.from({ length: 8 }, () => rotate('contested')));
    const seen = await Promise.allSettled(made.map(({ token }) => identify(token)));
    expect(seen.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    const rows = await app.database.query(`SELECT DISTINCT agent_id FROM worker_token WHERE account_id = $1`, [
      account.accountId,
    ]);
    expect(rows).toHaveLength(1);
  });

  it('takes the id of an agent that exists, and may be asked by id or by handle', async () => {
    await registered('known', 'agent_of_long_ago');
    const first = await rotate('known');
    const second = await rotate('agent_of_long_ago');
    expect(second.agentId).toBe('agent_of_long_ago');
    await expect(identify(first.token)).rejects.toMatchObject({ code: 'auth.revoked' });
    expect(await identify(second.token)).toMatchObject({ id: 'agent_of_long_ago', agentHandle: 'known' });
  });

  it('a token with a time to live ends by itself', async () => {
    const made = await rotate('brief', { ttlSeconds: 1 });
    expect(made.expiresAt).toMatch(/Z$/);
    expect(await identify(made.token)).toMatchObject({ kind: 'agent' });
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    await expect(identify(made.token)).rejects.toMatchObject({ code: 'auth.expired' });
    expect((await statusOf('brief')).json).toMatchObject({ exists: true, expired: true, expiresAt: made.expiresAt });
  });

  it.each([
    [{ agentId: '' }, ['body', 'agentId']],
    [{ agentId: 'a/b' }, ['body', 'agentId']],
    [{ agentId: 'a\nb' }, ['body', 'agentId']],
    [{ agentId: 'x'.repeat(201) }, ['body', 'agentId']],
    [{ agentId: 7 }, ['body', 'agentId']],
    [{ agentId: 'a', ttlSeconds: 0 }, ['body', 'ttlSeconds']],
    [{ agentId: 'a', ttlSeconds: 86_401 }, ['body', 'ttlSeconds']],
    [{ agentId: 'a', ttlSeconds: 1.5 }, ['body', 'ttlSeconds']],
    [{ agentId: 'a', credentialRef: 'vault-entry' }, ['body', 'credentialRef']],
    [{ agentId: 'a', more: true }, ['body']],
  ])('refuses %j with 422', async (body, loc) => {
    const answer = await app.call('POST', TOKEN, { key: account.key, body });
    expect(answer).toMatchObject({ status: 422, json: { detail: [{ loc }] } });
    expect((await app.call('GET', TOKENS, { key: account.key })).json).toEqual([]);
  });

  it('a worker cannot make tokens, not even its own', async () => {
    const { token } = await rotate('self-made');
    const answer = await app.call('POST', TOKEN, { key: token, body: { agentId: 'self-made' } });
    expect(answer).toMatchObject({ status: 403, json: { code: 'access.denied' } });
  });
});

describe('revoking', () => {
  it('K-13: is in force when it is answered, and may be repeated, also for a handle that nobody knows', async () => {
    const { token } = await rotate('gone');
    await identify(token);
    const path = '/api/v1/agents/gone/token';
    expect(await app.call('DELETE', path, { key: account.key })).toMatchObject({ status: 204, text: '' });
    await expect(identify(token)).rejects.toMatchObject({ code: 'auth.revoked' });
    expect((await app.call('DELETE', path, { key: account.key })).status).toBe(204);
    expect((await app.call('DELETE', '/api/v1/agents/never/token', { key: account.key })).status).toBe(204);
    expect((await statusOf('gone')).json).toMatchObject({ agentId: 'gone', exists: false });
  });

  it('K-14: tells those who hold channels open under the token, by a poke and by a fact', async () => {
    const { token } = await rotate('channelled');
    const { credentialId, id } = await identify(token);
    const tokens = app.nest.get(Credentials);
    expect(await tokens.valid([credentialId, 'wtk_other'])).toEqual(new Set([credentialId]));
    const looks: Promise<Set<string>>[] = [];
    app.nest.get(CredentialWatch).onChange(() => void looks.push(tokens.valid([credentialId])));
    await app.call('DELETE', '/api/v1/agents/channelled/token', { key: account.key });
    expect(looks.length).toBeGreaterThan(0);
    expect(await looks[0]).toEqual(new Set());
    await app.nest.get(Sweeper).now('outbox.deliver');
    expect(revoked).toContainEqual({ token_id: credentialId, agent_id: id });
  });

  it('K-64: another account’s token is untouched, and its handle reads as if nobody had it', async () => {
    const { token } = await rotate('shared name');
    const other = await app.account();
    expect((await statusOf('shared name', other.key)).json).toMatchObject({ exists: false });
    await app.call('DELETE', '/api/v1/agents/shared%20name/token', { key: other.key });
    const theirs = await app.call('POST', TOKEN, { key: other.key, body: { agentId: 'shared name' } });
    expect(await identify(token)).toMatchObject({ accountId: account.accountId });
    expect(await identify(theirs.json.token)).toMatchObject({ accountId: other.accountId });
  });
});

describe('what is known of tokens', () => {
  it('the status works before the agent exists, and never shows a secret', async () => {
    expect((await statusOf('later')).json).toEqual({
      agentId: 'later',
      exists: false,
      expired: false,
      createdAt: null,
      expiresAt: null,
      lastRotatedAt: null,
    });
    const { token } = await rotate('later', { ttlSeconds: 3_600 });
    const { json, text } = await statusOf('later');
    expect(json).toMatchObject({ agentId: 'later', exists: true, expired: false, lastRotatedAt: null });
    expect(text).not.toContain(token);
    await rotate('later');
    const rotated = (await statusOf('later')).json;
    expect(rotated).toMatchObject({ createdAt: json.createdAt, lastRotatedAt: expect.any(String), expiresAt: null });
  });

  it('the list holds a token from its making to its revocation, whatever became of the agent', async () => {
    await rotate('unseen');
    await rotate('drafted');
    const working = await rotate('working');
    await rotate('revoked');
    await app.call('DELETE', '/api/v1/agents/revoked/token', { key: account.key });
    await registered('drafted', 'agent_drafted');
    const { id, credentialId } = await identify(working.token);
    await registered('working', id);
    const worker =
      'INSERT INTO worker (account_id, id, agent_id, token_id, last_seen_at) VALUES ($1, $2, $3, $4, now())';
    await app.database.query(worker, [account.accountId, 'wkr', id, credentialId]);
    const { json } = await app.call('GET', TOKENS, { key: account.key });
    expect(json).toMatchObject([
      { agentId: 'unseen', idSlug: 'unseen', name: null, agentStatus: 'unregistered', isArchived: false, exists: true },
      { agentId: 'agent_drafted', idSlug: 'drafted', name: 'The drafted', agentStatus: 'draft' },
      { agentId: id, idSlug: 'working', agentStatus: 'online' },
    ]);
    await app.database.query(`UPDATE worker SET last_seen_at = now() - interval '91 seconds' WHERE account_id = $1`, [
      account.accountId,
    ]);
    const later = await app.call('GET', TOKENS, { key: account.key });
    expect(later.json[2]).toMatchObject({ idSlug: 'working', agentStatus: 'offline' });
  });

  it('K-74: looking at the list is on record', async () => {
    await app.call('GET', TOKENS, { key: account.key });
    const { json } = await app.call('GET', '/api/v1/audit?q=worker_token.read', { key: account.key });
    expect(json).toMatchObject([{ action: 'worker_token.read', status: 'success', category: 'agents' }]);
  });

  it('K-72: making, rotating and revoking are on record, with the agent as target and without the secret', async () => {
    const { token } = await rotate('traced');
    const { id, credentialId } = await identify(token);
    await app.call('DELETE', '/api/v1/agents/traced/token', { key: account.key });
    const { json, text } = await app.call('GET', `/api/v1/audit?target=${id}&order=asc`, { key: account.key });
    expect(json).toMatchObject([
      {
        action: 'worker_token.rotate',
        detail: { handle: 'traced', token_id: credentialId, target: { kind: 'agent', id } },
      },
      { action: 'worker_token.revoke', detail: { handle: 'traced', token_id: credentialId, outcome: 'done' } },
    ]);
    expect(text).not.toContain(token);
  });
});
