import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startApp, type RunningApp } from '../../support/app.ts';
import { eventually } from '../../support/rest.ts';
import { StubWorker } from '../../support/stub-worker.ts';
import { manifestOf, register, workerOf as mint, type Account } from '../workers/wire.ts';

let app: RunningApp;
let account: Account;
beforeAll(async () => {
  app = await startApp({ env: { SIGNALBOX_PRESENCE_WINDOW_SECONDS: '2' } });
  account = await app.account();
});
afterAll(() => app.stop());

const workerOf = (handle: string) => mint(app, account, handle);
const read = (path: string, key = account.key) => app.call('GET', `/api/v1/agents/${path}`, { key });

describe('the versions of an agent', () => {
  it('are listed oldest first, with who brought each of them first, and what it is known by', async () => {
    const worker = await workerOf('listed');
    const { payload } = await register(
      worker,
      manifestOf('listed', { source_commit: 'abc', source_dirty: true, version: '1' }),
      { skills_hash: 'h1' },
    );
    await register(worker, manifestOf('listed', { version: '2' }), { skills_hash: 'h2' });
    await register(worker, manifestOf('listed', { version: '3', agent_card: { name: 'other' } }), {
      skills_hash: 'h2',
    });
    const { json } = await read('listed/versions');
    const common = {
      agent_id: payload.agent_id,
      first_worker_id: worker.id,
      first_seen_at: expect.stringMatching(/Z$/),
    };
    expect(json).toMatchObject([
      { ...common, generation: 1, version: '1', skills_hash: 'h1', source_commit: 'abc', source_dirty: true },
      { ...common, generation: 2, version: '2', skills_hash: 'h2', source_commit: null, source_dirty: null },
      { ...common, generation: 3, version: '3', skills_hash: 'h2' },
    ]);
    const hashes = json.map(({ card_hash }: { card_hash: string }) => card_hash);
    expect(hashes[0]).toMatch(/^[0-9a-f]{64}$/);
    expect(hashes[1]).toBe(hashes[0]);
    expect(hashes[2]).not.toBe(hashes[0]);
    expect(new Set(json.map(({ id }: { id: string }) => id)).size).toBe(3);
  });

  it('count the workers that are online in them, until these are silent or go on to another one', async () => {
    const first = await workerOf('alive');
    const second = new StubWorker(app.url, first.token, { handle: 'alive' });
    const counts = async () =>
      (await read('alive/versions')).json.map(({ live_worker_count: count }: { live_worker_count: number }) => count);
    await register(first, manifestOf('alive', { version: '1' }));
    await register(second, manifestOf('alive', { version: '1' }));
    expect(await counts()).toEqual([2]);
    await register(second, manifestOf('alive', { version: '2' }));
    expect(await counts()).toEqual([1, 1]);
    await register(second, manifestOf('alive', { version: '1' }));
    expect(await counts()).toEqual([2, 0]);
    await eventually(async () => expect(await counts()).toEqual([0, 0]));
  });

  it('come whole without a limit, and by pages with one', async () => {
    const worker = await workerOf('paged');
    for (let version = 1; version <= 5; version += 1)
      await register(worker, manifestOf('paged', { version: `${version}` }));
    const generations = (json: { generation: number }[]) => json.map(({ generation }) => generation);
    expect(generations((await read('paged/versions')).json)).toEqual([1, 2, 3, 4, 5]);
    const first = await read('paged/versions?limit=3');
    expect(generations(first.json)).toEqual([1, 2, 3]);
    const second = await read(`paged/versions?limit=3&cursor=${first.headers.get('x-next-cursor')}`);
    expect(generations(second.json)).toEqual([4, 5]);
    expect(second.headers.get('x-next-cursor')).toBeNull();
    expect(await read('paged/versions?cursor=x')).toMatchObject({ status: 422, json: { code: 'input.invalid' } });
  });

  it('of another account’s agent read like those of none', async () => {
    const stranger = await app.account();
    const masked = ({ status, json }: Awaited<ReturnType<typeof read>>) => ({ status, ...json, request_id: '' });
    for (const path of ['versions', 'versions/1'])
      expect(masked(await read(`listed/${path}`, stranger.key))).toEqual(
        masked(await read(`nobody/${path}`, stranger.key)),
      );
  });
});

describe('a version', () => {
  const skill = (skill_id: string, md5: string) => ({ skill_id, name: skill_id, md5, content: 'long text' });

  it('is shown with its manifest as it was sent, and the names of its skills', async () => {
    const worker = await workerOf('whole');
    const manifest = manifestOf('whole', { labels: { team: 'x' }, anything: [1, { a: null }] });
    await register(worker, manifest, { skills: [skill('greet', 'm1')], skills_hash: 'h1' });
    const { status, json } = await read('whole/versions/1');
    expect(status).toBe(200);
    expect(json).toMatchObject({ generation: 1, live_worker_count: 1, diff: null, diff_truncated: false });
    expect(json.manifest).toEqual(manifest);
    expect(json.skills).toEqual([{ skill_id: 'greet', name: 'greet', md5: 'm1' }]);
  });

  it('is compared with another one, from that one to itself: what came, what went, and what is different', async () => {
    const worker = await workerOf('compared');
    await register(
      worker,
      manifestOf('compared', { version: '1', model: 'a', tools: ['x'], labels: { 'a/b~c': '1' } }),
      {
        ...{ skills: [skill('greet', 'm1'), skill('leave', 'm2')], skills_hash: 'h1' },
      },
    );
    await register(
      worker,
      manifestOf('compared', { version: '2', tools: ['x', 'y'], labels: { 'a/b~c': '2' }, owner: 'o' }),
      {
        ...{ skills: [skill('greet', 'm3')], skills_hash: 'h2' },
      },
    );
    const { json } = await read('compared/versions/2?compare=1');
    expect(json.diff).toEqual([
      { path: '/manifest/labels/a~1b~0c', before: '1', after: '2', truncated: false },
      { path: '/manifest/model', before: 'a', after: null, truncated: false },
      { path: '/manifest/owner', before: null, after: 'o', truncated: false },
      { path: '/manifest/tools', before: ['x'], after: ['x', 'y'], truncated: false },
      { path: '/manifest/version', before: '1', after: '2', truncated: false },
      { path: '/skills/greet/md5', before: 'm1', after: 'm3', truncated: false },
      { path: '/skills/leave', before: { name: 'leave', md5: 'm2' }, after: null, truncated: false },
    ]);
    expect((await read('compared/versions/1?compare=1')).json.diff).toEqual([]);
  });

  it('is compared in bounds: long values stand in their manifests only, and so do the places beyond 500', async () => {
    const worker = await workerOf('bounded');
    const many = Object.fromEntries(Array.from({ length: 600 }, (_, index) => [`k${index}`, index]));
    await register(worker, manifestOf('bounded', { version: '1', agent_card: { text: 'short' } }));
    await register(worker, manifestOf('bounded', { version: '2', agent_card: { text: 'x'.repeat(9_000) }, many }));
    const { json } = await read('bounded/versions/2?compare=1');
    expect(json.diff).toContainEqual({
      path: '/manifest/agent_card/text',
      before: 'short',
      after: null,
      truncated: true,
    });
    await register(worker, manifestOf('bounded', { version: '3', agent_card: { text: 'short' }, ...many }));
    const more = (await read('bounded/versions/3?compare=1')).json;
    expect(more).toMatchObject({ diff_truncated: true });
    expect(more.diff).toHaveLength(500);
  });

  it.each([
    ['versions/9', 404, { code: 'agent_version.not_found' }],
    ['versions/0', 422, { code: 'input.invalid', detail: [{ loc: ['path', 'generation'] }] }],
    ['versions/x', 422, { code: 'input.invalid', detail: [{ loc: ['path', 'generation'] }] }],
    ['versions/1?compare=9', 422, { code: 'input.invalid', detail: [{ loc: ['query', 'compare'] }] }],
    ['versions/99999999999999', 422, { code: 'input.invalid', detail: [{ loc: ['path', 'generation'] }] }],
  ])('that is not there is refused by name: %s', async (path, status, body) => {
    await register(await workerOf('strict'), manifestOf('strict'));
    expect(await read(`strict/${path}`)).toMatchObject({ status, json: body });
  });
});
