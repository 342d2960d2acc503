import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Json } from '../../support/app.ts';
import { Scene } from '../evidence/scene.ts';
import { tokenFor } from '../workers/wire.ts';
import type { WorkerReport } from './plain-worker.ts';

const PROGRAM = path.join(import.meta.dirname, 'plain-worker.ts');

let scene: Scene;
let report: WorkerReport;
let answer: Json;
let run: Json;
beforeAll(async () => {
  scene = await Scene.open();
  const token = await tokenFor(scene.app, { accountId: '', key: scene.key }, 'plain');
  const working = promisify(execFile)(process.execPath, ['--disable-warning=ExperimentalWarning', PROGRAM], {
    env: { URL: scene.app.url, TOKEN: token, HANDLE: 'plain' },
    timeout: 15_000,
  });
  const order = () =>
    scene.app.call('POST', '/api/v1/agents/plain/invoke', { key: scene.key, body: { input: { n: 1 } } });
  const [{ stdout }, { json }] = await Promise.all([working, registered().then(order)]);
  report = JSON.parse(stdout) as WorkerReport;
  answer = json;
  run = await scene.run(answer.run_id);
}, 30_000);
afterAll(() => scene.close());

async function registered(): Promise<void> {
  while ((await scene.app.call('GET', '/api/v1/agents/plain', { key: scene.key })).status !== 200);
}

describe('a worker with nothing but an address and a token', () => {
  it('D-3: drives a whole run over the documented worker route: presence, status, events, usage and output', async () => {
    expect(report.answers.filter((one) => one !== '200 run_assignment')).toEqual([
      ...['200 worker_state', '200 secrets_bundle', '200 config_bundle'],
      ...['200 run_state', '202', '202', '200 run_state'],
    ]);
    const usage = { input_tokens: 1, output_tokens: 2, total_tokens: 3 };
    expect(answer).toMatchObject({ status: 'succeeded', output: { text: 'done' }, usage });
    expect(run).toMatchObject({
      status: 'succeeded',
      worker_id: 'plain-1',
      usage,
      log_events: [{ message: 'working' }],
    });
    expect(await scene.spans(run.run_id)).toMatchObject([{ span_id: 's', name: 'look', status: 'ok' }]);
    expect((await scene.get('/api/v1/agents/plain')).instances).toMatchObject([{ worker_id: 'plain-1' }]);
  });

  it('K-26: takes and finishes work while it listens on no port', () => {
    expect([report.listens, run.status]).toEqual([false, 'succeeded']);
  });

  it('K-30: speaks to the interface only, and its job names no database', () => {
    expect(report.peers).toEqual([Number(new URL(scene.app.url).port)]);
    expect(report.environment.toSorted()).toEqual(['HANDLE', 'TOKEN', 'URL']);
    expect(JSON.stringify(report.job)).not.toMatch(/postgres|redis:|@127\.0\.0\.1/i);
    expect(report.job).toMatchObject({ run_id: run.run_id, input: { n: 1 } });
  });
});
