import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startApp, type RunningApp } from '../../support/app.ts';
import { startStub } from '../../support/stub-worker.ts';
import type { Account } from '../workers/wire.ts';

let app: RunningApp;
let account: Account;

beforeAll(async () => {
  app = await startApp();
  account = await app.account();
});
afterAll(() => app.stop());

const ask = (method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string, body?: unknown) =>
  app.call(method, `/api/v1${path}`, { key: account.key, body });
const inPath = (name: string): string => encodeURIComponent(name);

const NAMES = [
  'two words',
  ' led and trailed ',
  'Ünïcode',
  '你好',
  'مرحبا',
  '👩‍👩‍👧‍👦 family',
  '😀'.repeat(200),
  '%2F',
  '%',
  '%00',
  '...',
  '~',
  'a?b#c&d=e',
  'a;b',
  'a\\b',
  '"quoted" \'twice\' `thrice`',
  '__proto__',
  'drafts',
  'worker-token',
  'null',
  'x'.repeat(200),
];
/** Sent in a body. */
const NO_NAMES = [
  '',
  '/',
  'a/b',
  '.',
  '..',
  'worker-tokens',
  'a\0b',
  'a\nb',
  'a\u007fb',
  'a\u0085b',
  'a\ud800',
  'x'.repeat(201),
  '😀'.repeat(201),
];
const WITHOUT_ADDRESS = ['', '.', '..', 'worker-tokens'];

describe.each(NAMES)('an agent called %j', (name) => {
  it('is drafted, run, shown, invoked and archived by its name, character for character', async () => {
    const made = await ask('POST', '/agents/drafts', { agent_id: name });
    expect([made.status, made.json.id_slug]).toEqual([200, name]);
    const worker = await startStub(app, account.key, { handle: name });
    const at = `/agents/${inPath(name)}`;
    expect((await ask('GET', at)).json).toMatchObject({
      id_slug: name,
      agent_id: made.json.agent_id,
      status: 'online',
    });
    const invoked = ask('POST', `${at}/invoke`, { input: {} });
    await worker.serve({ text: 'heard' });
    expect((await invoked).json).toMatchObject({ status: 'succeeded', agent_id: made.json.agent_id });
    const queued = (await ask('POST', '/runs', { agent_id: name })).json;
    expect((await ask('GET', `/runs?agent_id=${inPath(name)}&status=queued`)).json).toMatchObject([
      { run_id: queued.run_id },
    ]);
    expect((await ask('GET', `/workers?agent_id=${inPath(name)}`)).json).toMatchObject([{ worker_id: worker.id }]);
    expect((await ask('GET', `${at}/token`)).json).toMatchObject({ agentId: name, exists: true });
    expect((await ask('PATCH', `${at}/archive`)).json).toMatchObject({ id_slug: name, is_archived: true });
    expect((await ask('DELETE', `${at}/token`)).status).toBe(204);
  });
});

describe.each(NO_NAMES)('the name %j', (name) => {
  it('is 422 wherever an agent is named, and the field is named', async () => {
    const bodies: readonly [string, string, object?][] = [
      ['/agents/drafts', 'agent_id'],
      ['/agents/worker-token', 'agentId'],
      ['/runs', 'agent_id'],
    ];
    for (const [path, field, more] of bodies) {
      const { status, json } = await ask('POST', path, { ...more, [field]: name });
      expect([path, status, json.detail[0].loc]).toEqual([path, 422, ['body', field]]);
    }
    if (WITHOUT_ADDRESS.includes(name) || !name.isWellFormed()) return;
    const paths = [
      ['GET', ''],
      ['GET', '/queue'],
      ['GET', '/token'],
      ['DELETE', '/token'],
      ['POST', '/invoke'],
      ['PATCH', '/disable'],
      ['PATCH', '/archive'],
      ['PATCH', '/draft'],
      ['GET', '/activity'],
    ] as const;
    for (const [method, path] of paths) {
      const { status, json } = await ask(
        method,
        `/agents/${inPath(name)}${path}`,
        method === 'GET' || method === 'DELETE' ? undefined : {},
      );
      if (path === '/activity' && status === 404 && json.code === 'route.not_found') continue;
      expect([method, path, status, json.detail[0].loc]).toEqual([method, path, 422, ['path', 'agent_id']]);
    }
    for (const path of ['/runs', '/workers', '/approvals']) {
      const { status, json } = await ask('GET', `${path}?agent_id=${inPath(name)}`);
      expect([path, status, json.detail[0].loc]).toEqual([path, 422, ['query', 'agent_id']]);
    }
  });
});

it('names that differ in case, or in how their characters are composed, are different agents', async () => {
  const names = ['Folded', 'folded', 'FOLDED', 'caf\u00e9', 'cafe\u0301', 'folded ', '\u200bfolded', 'ﬁle', 'file'];
  const ids = new Set<string>();
  for (const name of names) ids.add((await ask('POST', '/agents/drafts', { agent_id: name })).json.agent_id);
  expect(ids.size).toBe(names.length);
  for (const name of names) expect((await ask('GET', `/agents/${inPath(name)}`)).json.id_slug).toBe(name);
});

it('a slash in a path is a slash, written plainly or not: it names no agent', async () => {
  const plain = await ask('GET', '/agents/a/b');
  expect([plain.status, plain.json.code]).toEqual([404, 'route.not_found']);
  expect((await ask('GET', '/agents/a%2Fb')).status).toBe(422);
});
