import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Accounts } from '../../../src/identity/index.ts';
import { startApp, type RunningApp } from '../../support/app.ts';

let app: RunningApp;
beforeAll(async () => void (app = await startApp()));
afterAll(() => app.stop());

it('of replicas that start at the same time exactly one makes the first account, and only it is told the key', async () => {
  const other = await startApp({ database: app.database });
  const replicas = [app, other, app, other, app, other];
  const starts = replicas.map(({ nest }) => nest.get(Accounts).bootstrap({ ownerEmail: 'owner@localhost' }));
  const made = await Promise.all(starts);
  await other.stop();
  expect(made.filter((one) => one.created)).toHaveLength(1);
  expect(made.filter((one) => one.key !== undefined)).toHaveLength(1);
  expect(await app.database.query('SELECT slug FROM account')).toEqual([{ slug: 'default' }]);
  const key = made.find((one) => one.created)?.key ?? '';
  expect(await app.call('GET', '/api/v1/api-keys', { key })).toMatchObject({ status: 200 });
});

it('an account has an owner who may do everything, a key, and rows on record', async () => {
  const apiKey = randomBytes(20).toString('hex');
  const made = await app.nest.get(Accounts).create({ slug: 'acme', ownerEmail: 'ann@acme.test', apiKey });
  expect(made.key).toBe(apiKey);
  const keys = await app.call('GET', '/api/v1/api-keys', { key: apiKey });
  expect(keys.json).toMatchObject([{ principal_id: made.ownerId, bound_to: 'user', owner_label: 'ann@acme.test' }]);
  const audit = await app.call('GET', '/api/v1/audit?order=asc', { key: apiKey });
  expect(audit.json).toMatchObject([
    { action: 'account.create', category: 'identity', actor_type: 'system', actor_principal_id: null },
    { action: 'api_key.create', category: 'identity', actor_type: 'system' },
  ]);
});

it('a name that is taken is refused, and nothing of the second account remains', async () => {
  const accounts = app.nest.get(Accounts);
  await accounts.create({ slug: 'taken', ownerEmail: 'one@taken.test' });
  const again = accounts.create({ slug: 'taken', ownerEmail: 'two@taken.test' });
  await expect(again).rejects.toMatchObject({ code: 'account.slug_taken', message: expect.stringContaining('taken') });
  expect(await app.database.query(`SELECT 1 FROM principal WHERE email = 'two@taken.test'`)).toEqual([]);
});

it('a name of another form is refused', async () => {
  const made = app.nest.get(Accounts).create({ slug: 'Not A Slug', ownerEmail: 'x@y.test' });
  await expect(made).rejects.toMatchObject({ code: 'input.invalid' });
});
