import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startApp, type Json, type RunningApp } from '../../support/app.ts';

let app: RunningApp;
let owner: { readonly key: string };

beforeAll(async () => {
  app = await startApp();
  owner = await app.account();
});
afterAll(() => app.stop());

const ask = (what: string, key?: string): Promise<Json> =>
  app.call('GET', `/api/v1/authz/${what}`, key === undefined ? {} : { key });

describe('the catalogues of what can be granted', () => {
  it('have each capability that an operation asks for once, with the words for it, for whoever is known', async () => {
    const body = { name: 'sees little', role_ids: ['role_auditor'], scopes: ['audit:read'] };
    const { json: small } = await app.call('POST', '/api/v1/api-keys', { key: owner.key, body });
    const { status, json } = await ask('capabilities', small.key);
    expect(status).toBe(200);
    const keys = json.map((line: Json) => line.key);
    expect(new Set(keys).size).toBe(keys.length);
    expect(json).toContainEqual({
      key: 'audit.read',
      domain: 'audit',
      allows: 'Read the audit trail',
      sensitivity: 'medium',
    });
    expect(await ask('capabilities', owner.key)).toMatchObject({ json });
  });

  it('have the account and each kind of object that an operation names', async () => {
    const { status, json } = await ask('resource-types', owner.key);
    expect(status).toBe(200);
    expect(json.map(({ key, scope }: Json) => [key, scope])).toEqual(
      expect.arrayContaining([
        ['account', 'account'],
        ['agent', 'resource'],
        ['run', 'resource'],
      ]),
    );
  });

  it.each(['capabilities', 'resource-types'])('%s are shown to nobody unknown', async (what) => {
    expect(await ask(what)).toMatchObject({ status: 401, json: { code: 'auth.missing' } });
  });
});
