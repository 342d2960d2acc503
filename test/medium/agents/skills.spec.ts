import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { startApp, type Json, type RunningApp } from '../../support/app.ts';
import type { StubWorker } from '../../support/stub-worker.ts';
import { manifestOf, register, workerOf as mint, type Account } from '../workers/wire.ts';

let app: RunningApp;
let account: Account;
beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app.stop());

const workerOf = (handle: string) => mint(app, account, handle);
const get = (path: string, key = account.key) => app.call('GET', `/api/v1${path}`, { key });

/** A skill as the SDK sends it. */
function skill(skill_id: string, content: string, more: object = {}): object {
  return {
    ...{ skill_id, name: `Skill ${skill_id}`, description: 'does it', tags: ['a'], content, md5: `md5 of ${content}` },
    ...{ path: `${skill_id}/SKILL.md`, references: [{ filename: 'more.md', content: 'more' }], resources: [] },
    ...more,
  };
}

let hashes = 0;
async function bring(worker: StubWorker, skills: readonly object[] | null, version = '1'): Promise<string> {
  const more = { skills, skills_hash: `h${(hashes += 1)}` };
  const { status, payload } = await register(worker, manifestOf(worker.handle, { version }), more);
  expect(status).toBe(200);
  return payload.agent_id;
}

const idsOf = (skills: Json): string[] => skills.map(({ skill_id }: { skill_id: string }) => skill_id);

describe('skills', () => {
  beforeAll(async () => {
    account = await app.account();
  });

  it('are listed by id, each once, with every agent that has it and what it has there', async () => {
    const [one, other] = [await workerOf('one'), await workerOf('other')];
    const first = await bring(one, [skill('look', 'Look.'), skill('ask', 'Ask.', { version: 'abc' })]);
    const second = await bring(other, [skill('look', 'Look twice.', { name: 'Looking' })]);
    const { json } = await get('/skills');
    expect(json).toMatchObject([
      { skill_id: 'ask', version: 'abc', source_agents: [{ source_agent_id: first, version: 'abc' }] },
      {
        ...{ skill_id: 'look', name: 'Looking', description: 'does it', tags: ['a'], path: 'look/SKILL.md' },
        ...{ md5: 'md5 of Look twice.', version: null },
        source_agents: [
          { source_agent_id: second, md5: 'md5 of Look twice.' },
          { source_agent_id: first, md5: 'md5 of Look.' },
        ],
      },
    ]);
    expect(JSON.stringify(json)).not.toContain('"content"');
    expect(idsOf((await get(`/skills?agent_id=${second}`)).json)).toEqual(['look']);
    expect((await get('/skills?agent_id=one')).json).toMatchObject([
      { skill_id: 'ask' },
      { skill_id: 'look', md5: 'md5 of Look.' },
    ]);
    expect((await get('/skills?agent_id=nobody')).json).toEqual([]);
  });

  it('are shown with the newest content, or that of the agent that is asked about', async () => {
    const { status, json } = await get('/skills/look');
    expect(status).toBe(200);
    expect(json).toMatchObject({ content: 'Look twice.', references: [{ filename: 'more.md', content: 'more' }] });
    expect(json.source_agents).toHaveLength(2);
    expect((await get('/skills/look?agent_id=one')).json).toMatchObject({ content: 'Look.', name: 'Skill look' });
  });

  it.each([
    '/skills/Look',
    '/skills/Skill%20look',
    '/skills/nothing',
    '/skills/ask?agent_id=other',
    '/skills/ask?agent_id=nobody',
  ])('are never guessed: %s is 404', async (path) =>
    expect(await get(path)).toMatchObject({ status: 404, json: { code: 'skill.not_found' } }),
  );

  it('of another account are none', async () => {
    const stranger = await app.account();
    expect((await get('/skills', stranger.key)).json).toEqual([]);
    expect((await get('/skills/look', stranger.key)).status).toBe(404);
  });
});

describe('an agent’s skills', () => {
  beforeEach(async () => {
    account = await app.account();
  });
  const now = async () => idsOf((await get('/skills')).json);

  it('are those of the version that it is in, also when the older version comes back', async () => {
    const worker = await workerOf('moving');
    await bring(worker, [skill('look', 'Look.'), skill('ask', 'Ask.')]);
    await register(worker, manifestOf('moving', { version: '2' }), {
      skills: [skill('ask', 'Ask.')],
      skills_hash: 'two',
    });
    expect(await now()).toEqual(['ask']);
    expect((await get('/skills/look')).status).toBe(404);
    await bring(worker, [], '3');
    expect(await now()).toEqual([]);
    await register(worker, manifestOf('moving', { version: '2' }), {
      skills: [skill('ask', 'Ask.')],
      skills_hash: 'two',
    });
    expect(await now()).toEqual(['ask']);
  });

  it('stay as they are where a registration leaves them out', async () => {
    const worker = await workerOf('silent');
    await bring(worker, [skill('look', 'Look.')]);
    await bring(worker, null, '2');
    expect(await now()).toEqual(['look']);
    expect((await get('/skills/look')).json.content).toBe('Look.');
  });

  it('keep the time since when the agent has them in this content', async () => {
    const worker = await workerOf('aging');
    const since = async () => (await get('/skills/look')).json.updated_at as string;
    await bring(worker, [skill('look', 'Look.')]);
    const first = await since();
    await bring(worker, [skill('look', 'Look.')], '2');
    expect(await since()).toBe(first);
    await bring(worker, [skill('look', 'Look twice.')], '3');
    expect(Date.parse(await since())).toBeGreaterThan(Date.parse(first));
  });

  it('may be anything: what has no id is none, the first of two with one id counts, and nothing refuses the worker', async () => {
    const worker = await workerOf('odd');
    await bring(worker, [
      ...[{ name: 'nameless' }, { skill_id: '' }, { skill_id: 'x'.repeat(3_000) }, { skill_id: null }],
      ...[skill('twice', 'First.'), skill('twice', 'Second.')],
      { skill_id: '__proto__', name: 7, tags: 'no list', content: { a: 1 }, references: ['x', { filename: 1 }] },
    ]);
    expect(await now()).toEqual(['__proto__', 'twice']);
    expect((await get('/skills/twice')).json.content).toBe('First.');
    expect((await get('/skills/__proto__')).json).toMatchObject({
      ...{ name: '7', tags: [], content: '', references: [{ filename: '', content: '' }], md5: '' },
    });
  });

  it('are not listed while it is archived, and can be looked up by its name', async () => {
    const worker = await workerOf('shelved');
    await bring(worker, [skill('look', 'Look.')]);
    await app.database.query(`UPDATE agent SET archived_at = now() WHERE handle = 'shelved'`);
    expect(await now()).toEqual([]);
    expect(idsOf((await get('/skills?agent_id=shelved')).json)).toEqual(['look']);
  });
});
