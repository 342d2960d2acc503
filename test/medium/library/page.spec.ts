import { execFile } from 'node:child_process';
import fs from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { startApp, type Json, type RunningApp } from '../../support/app.ts';
import { startStub } from '../../support/stub-worker.ts';

const ROOT = path.resolve(import.meta.dirname, '../../..');
const MARK = '---- the next block';
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

let app: RunningApp;
beforeAll(async () => void (app = await startApp()));
afterAll(() => app.stop());

/** The fenced blocks of a page, each command with the answer that the page promises for it. */
async function blocksOf(page: string): Promise<{ readonly command: string; readonly answer?: Json }[]> {
  const text = await fs.readFile(path.join(ROOT, page), 'utf8');
  const blocks: { command: string; answer?: Json }[] = [];
  for (const [, language, body = ''] of text.matchAll(/^```(sh|json)\n(.*?)^```/gms)) {
    const last = blocks.at(-1);
    if (language === 'sh') blocks.push({ command: body });
    else if (last) last.answer = JSON.parse(body);
  }
  return blocks;
}

/** The promise as an expectation: what the page shortens with an ellipsis, and times, are told by their form. */
function promised(value: Json): Json {
  if (typeof value === 'string' && value.endsWith('…')) return expect.stringContaining(value.slice(0, -1));
  if (typeof value === 'string' && TIME.test(value)) return expect.stringMatching(TIME);
  if (Array.isArray(value)) return value.map(promised);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, promised(member)]));
}

it('every command of docs/writing-a-worker.md works, and is answered as the page says', async () => {
  const { key } = await app.account();
  const blocks = await blocksOf('docs/writing-a-worker.md');
  expect(blocks.filter(({ answer }) => answer !== undefined).length).toBeGreaterThan(8);
  const script = ['set -eu', ...blocks.map(({ command }) => `${command}echo; echo '${MARK}'`)].join('\n');
  const environment = { PATH: process.env['PATH'], URL: app.url, KEY: key };
  const { stdout } = await promisify(execFile)('bash', ['-c', script], { env: environment, cwd: '/' });
  const answers = stdout.split(MARK).map((part) => part.trim().split('\n').at(-1) ?? '');
  expect(answers[2]).toContain('worker_state');
  for (const [index, { command, answer }] of blocks.entries()) {
    if (answer === undefined) continue;
    const read: Json = { command, answer: JSON.parse(answers[index] ?? '') };
    expect(read).toMatchObject({ command, answer: promised(answer) });
  }
}, 60_000);

it('every command of docs/runbook.md works, on an agent, a worker and a run that are there', async () => {
  const { key } = await app.account();
  const worker = await startStub(app, key, { handle: 'troubled' });
  const { json: run } = await app.call('POST', '/api/v1/runs', { key, body: { agent_id: 'troubled' } });
  const blocks = await blocksOf('docs/runbook.md');
  expect(blocks.length).toBeGreaterThan(5);
  const names = { AGENT: 'troubled', WORKER: worker.id, RUN: run.run_id };
  const environment = { PATH: process.env['PATH'], URL: app.url, KEY: key, ...names };
  const script = ['set -eu', ...blocks.map(({ command }) => command)].join('\n');
  const { stdout } = await promisify(execFile)('bash', ['-c', script], { env: environment, cwd: '/' });
  const lines = stdout.split('\n').filter((line) => line !== '');
  expect(lines.filter((line) => line === '200')).toHaveLength(2); // `code` of what is well
  for (const line of lines.filter((one) => one !== '200')) expect(() => JSON.parse(line) as unknown).not.toThrow();
  expect(stdout).toContain(`"worker_id":"${worker.id}"`);
}, 60_000);

it('the agent that README.md shows is the file, and has at most 40 lines', async () => {
  const [readme, file] = await Promise.all(
    ['README.md', 'examples/agents/hello.ts'].map((name) => fs.readFile(path.join(ROOT, name), 'utf8')),
  );
  expect(readme).toContain('```ts\n' + file + '```');
  expect(file?.split('\n').length).toBeLessThanOrEqual(40);
});
