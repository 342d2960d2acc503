import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startApp, type Json, type RunningApp } from '../../support/app.ts';
import { eventually } from '../../support/rest.ts';

const KEYS = '/api/v1/api-keys';

let app: RunningApp;
beforeAll(async () => void (app = await startApp()));
afterAll(() => app.stop());

function rows(): Promise<Json[]> {
  return app.database.query<Json>(
    `SELECT action, operation, outcome, actor_kind, actor_id, address, target_id, request_id, detail
       FROM audit_entry WHERE account_id = 'acct_system' ORDER BY at, id`,
  );
}

describe('refused mutations of strangers', () => {
  it('K-75: leave a row of the system’s account with address and the credential’s beginning, and no more of it', async () => {
    const headers = { 'x-request-id': 'stranger-request' };
    await app.call('POST', KEYS, { key: 'sk_unknown_and_long_enough', body: { name: 'x' }, headers });
    await eventually(async () => expect(await rows()).toHaveLength(1));
    expect((await rows())[0]).toEqual({
      action: 'auth.refuse',
      operation: 'identity.create_api_key',
      outcome: 'refused',
      actor_kind: 'anonymous',
      actor_id: null,
      address: '127.0.0.1',
      target_id: 'sk_unkno',
      request_id: 'stranger-request',
      detail: { code: 'auth.invalid', credential_prefix: 'sk_unkno' },
    });
  });

  it('reads leave none, and no account sees those rows', async () => {
    const before = (await rows()).length;
    await app.call('GET', KEYS);
    const { key } = await app.account();
    const { text } = await app.call('GET', '/api/v1/audit', { key });
    expect(text).not.toContain('auth.refuse');
    expect(await rows()).toHaveLength(before);
  });

  it('leave sixty rows a minute and address at most, and then one with a count', async () => {
    const flooded = await startApp({ database: app.database });
    const before = (await rows()).length;
    for (let call = 0; call < 75; call += 1) expect((await flooded.call('DELETE', `${KEYS}/any`)).status).toBe(401);
    await eventually(async () => expect(await rows()).toHaveLength(before + 60));
    await flooded.stop(); // a replica that goes puts what it counted on record
    const after = (await rows()).slice(before);
    expect(after).toHaveLength(61);
    expect(after.at(-1)).toMatchObject({ outcome: 'refused', address: '127.0.0.1', detail: { count: 15 } });
  });
});
