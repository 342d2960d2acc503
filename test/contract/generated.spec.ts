import fs from 'node:fs';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { referencesOf } from '../../scripts/references.ts';
import { OperationRegistry } from '../../src/platform/operation/registry.ts';
import { startApp, type RunningApp } from '../support/app.ts';

const COMMITTED = 'docs/generated';
let app: RunningApp;

beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app.stop());

test('the references under docs/generated are those of this program; `npm run gen` writes them anew', async () => {
  const operations = app.nest
    .get(OperationRegistry)
    .all()
    .map(({ op }) => op);
  const { json: document } = await app.call('GET', '/api/openapi.json');
  const fresh = referencesOf({ operations, document });
  expect(fs.readdirSync(COMMITTED).sort()).toEqual([...fresh.keys()].sort());
  for (const [name, text] of fresh)
    expect({ name, text: fs.readFileSync(`${COMMITTED}/${name}`, 'utf8') }).toEqual({ name, text });
});
