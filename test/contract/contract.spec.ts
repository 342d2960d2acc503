import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startApp, type RunningApp } from '../support/app.ts';
import { CONTRACT, isInContract, operationsOf, shapeOf, type ApiDocument } from './documents.ts';

/** What this build must serve of the contract; it may serve more. */
const OWED = [
  'GET /api/v1/agents',
  'GET /api/v1/agents/{agent_id}',
  'GET /api/v1/agents/{agent_id}/token',
  'GET /api/v1/agents/worker-tokens',
  'GET /api/v1/api-keys',
  'GET /api/v1/api-keys/{key_id}/reveal',
  'GET /api/v1/runs',
  'GET /api/v1/runs/{run_id}',
  'GET /api/v1/audit',
  'GET /api/v1/workers/{worker_id}/channel',
  'POST /api/v1/agents/worker-token',
  'POST /api/v1/agents/{agent_id}/invoke',
  'POST /api/v1/api-keys',
  'POST /api/v1/runs',
  'POST /api/v1/runs/{run_id}/cancel',
  'POST /api/v1/runs/{run_id}/messages',
  'DELETE /api/v1/agents/{agent_id}/token',
  'DELETE /api/v1/api-keys/{key_id}',
  'GET /api/v1/runs/{run_id}/artifacts',
  'GET /api/v1/runs/{run_id}/artifacts/{artifact_id}',
];

let app: RunningApp;
let served: ApiDocument;

beforeAll(async () => {
  app = await startApp();
  served = (await app.call('GET', '/api/openapi.json')).json;
});
afterAll(() => app.stop());

test('every operation of the contract that is served matches it', async () => {
  const shapes = new Set([...operationsOf(served).keys()].map(shapeOf));
  const known = [...operationsOf(CONTRACT).keys()].filter((key) => shapes.has(shapeOf(key)));
  expect(known).toEqual(expect.arrayContaining(OWED));
  const only = `^(${known.map((key) => key.replaceAll(/[{}/.]/g, String.raw`\$&`)).join('|')})$`;
  const { code, output } = await check('--only', only);
  expect({ code, output }).toEqual({
    code: 0,
    output: expect.stringContaining(`contract: ${known.length}/${known.length} operations match`),
  });
});

test('an operation of ours is marked as such, and one of the contract is not', () => {
  for (const [key, described] of operationsOf(served)) {
    expect({ key, mark: described['x-signalbox'] }).toEqual({ key, mark: isInContract(key) ? undefined : 'own' });
  }
});

function check(...options: string[]): Promise<{ readonly code: number; readonly output: string }> {
  const program = fileURLToPath(new URL('check.mjs', import.meta.url));
  const argv = [program, '--spec', `${app.url}/api/openapi.json`, ...options];
  return new Promise((resolve) => {
    execFile(process.execPath, argv, (error, stdout, stderr) =>
      resolve({ code: error ? Number(error.code) : 0, output: stdout + stderr }),
    );
  });
}
