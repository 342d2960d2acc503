import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { CredentialWatch } from '../../../src/identity/index.ts';
import { Identifier } from '../../../src/platform/operation/ports.ts';
import { startApp, type RunningApp } from '../../support/app.ts';
import { DatabaseProxy } from '../../support/database-proxy.ts';
import { eventually } from '../../support/rest.ts';

const KEYS = '/api/v1/api-keys';

let one: RunningApp;
let other: RunningApp;
let owner: { readonly key: string };

beforeAll(async () => {
  one = await startApp();
  other = await startApp({ database: one.database });
  owner = await one.account();
});
afterAll(async () => {
  await other.stop();
  await one.stop();
});

async function newKey(): Promise<{ id: string; key: string }> {
  const body = { name: 'warm', role_ids: ['role_viewer'] };
  return (await one.call('POST', KEYS, { key: owner.key, body })).json;
}

describe('revocation on several replicas', () => {
  it('K-68: a revoked key is refused on every replica from the moment the revocation is answered', async () => {
    for (let round = 0; round < 10; round += 1) {
      const { id, key } = await newKey();
      for (const app of [one, other, other]) expect((await app.call('GET', KEYS, { key })).status).toBe(200);
      const startedAt = performance.now();
      expect((await one.call('DELETE', `${KEYS}/${id}`, { key: owner.key })).status).toBe(200);
      expect((await other.call('GET', KEYS, { key })).status).toBe(401);
      expect(performance.now() - startedAt).toBeLessThan(1_000);
    }
  });

  it('K-13: a rotated worker token is refused on every replica, and the new one works on every replica', async () => {
    const rotate = async (): Promise<string> => {
      const answer = await one.call('POST', '/api/v1/agents/worker-token', {
        key: owner.key,
        body: { agentId: 'probe' },
      });
      return answer.json.token;
    };
    const identifiers = [one, other].map(({ nest }) => nest.get(Identifier));
    let token = await rotate();
    for (let round = 0; round < 5; round += 1) {
      for (const who of identifiers) await who.identify({ bearer: token, address: '' });
      const old = token;
      token = await rotate();
      for (const who of identifiers) {
        await expect(who.identify({ bearer: old, address: '' })).rejects.toMatchObject({ code: 'auth.revoked' });
        expect(await who.identify({ bearer: token, address: '' })).toMatchObject({ agentHandle: 'probe' });
      }
    }
  });

  it('K-57: what a principal loses is lost on every replica, once the change is settled', async () => {
    const { key } = await newKey();
    for (const app of [one, other]) expect((await app.call('GET', KEYS, { key })).status).toBe(200);
    const [{ principal_id } = { principal_id: '' }] = await one.database.query<{ principal_id: string }>(
      `DELETE FROM principal_role WHERE principal_id = (SELECT principal_id FROM api_key ORDER BY created_at DESC LIMIT 1)
       RETURNING principal_id`,
    );
    expect(principal_id).not.toBe('');
    await one.database.query('UPDATE credential_version SET version = version + 1');
    await eventually(async () => {
      for (const app of [one, other]) expect((await app.call('GET', KEYS, { key })).status).toBe(403);
    });
  });

  it('a replica that says nothing delays the answer by two seconds, and no more', async () => {
    const silent = `INSERT INTO credential_watch (replica_id, version, seen_at) VALUES ('rep_silent', 0, now() + interval '1 minute')`;
    const { id } = await newKey();
    await one.database.query(silent);
    const startedAt = performance.now();
    expect((await one.call('DELETE', `${KEYS}/${id}`, { key: owner.key })).status).toBe(200);
    const waited = performance.now() - startedAt;
    await one.database.query(`DELETE FROM credential_watch WHERE replica_id = 'rep_silent'`);
    expect(waited).toBeGreaterThan(1_900);
    expect(waited).toBeLessThan(4_000);
  });

  it('nobody waits for a replica that is dead, or that left', async () => {
    await one.database.query(
      `INSERT INTO credential_watch (replica_id, version, seen_at) VALUES ('rep_dead', 0, now() - interval '3 seconds')`,
    );
    const third = await startApp({ database: one.database });
    await third.stop();
    const { id } = await newKey();
    const startedAt = performance.now();
    await one.call('DELETE', `${KEYS}/${id}`, { key: owner.key });
    expect(performance.now() - startedAt).toBeLessThan(1_000);
  });

  it('a replica that cannot reach the database believes nothing it remembers after two seconds', async () => {
    let proxy: DatabaseProxy | undefined;
    const cut = await startApp({
      database: one.database,
      via: async (url) => {
        const opened = await DatabaseProxy.before(url);
        proxy = opened.proxy;
        return opened.url;
      },
    });
    try {
      const identifier = cut.nest.get(Identifier);
      const presented = { bearer: owner.key, address: '' };
      await identifier.identify(presented);
      await proxy?.close();
      expect(await identifier.identify(presented)).toMatchObject({ kind: 'person' });
      await eventually(() => expect(cut.nest.get(CredentialWatch).isCurrent()).toBe(false), { within: 4_000 });
      await expect(identifier.identify(presented)).rejects.toThrow('ECONNREFUSED');
    } finally {
      await cut.stop();
    }
  });
});
