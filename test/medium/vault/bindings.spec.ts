import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { startApp, type RunningApp } from '../../support/app.ts';
import { CREDENTIALS, VaultScene } from './scene.ts';

let app: RunningApp;
let scene: VaultScene;

beforeAll(async () => {
  app = await startApp();
});
beforeEach(async () => {
  scene = new VaultScene(app, await app.account());
});
afterAll(() => app.stop());

describe('a binding', () => {
  it('comes back as it was sent, and says that its agent is not there yet until it is', async () => {
    const id = await scene.store('key', 'v');
    const path = `${CREDENTIALS}/${id}/bindings`;
    const { status, json } = await scene.call('POST', path, { agent_id: 'later' });
    const binding = { credential_id: id, agent_id: 'later', on_demand: false, created_at: expect.any(String) };
    expect([status, json]).toEqual([201, { ...binding, unresolved: ['agent_id'] }]);
    expect((await scene.call('GET', path)).json).toEqual([json]);
    await scene.worker('later');
    expect((await scene.call('GET', path)).json).toEqual([{ ...binding, created_at: json.created_at }]);
    expect((await scene.call('GET', `${CREDENTIALS}/${id}`)).json.bound_agents).toBe(1);
  });

  it('that is made again is the same one, with another mind about on_demand', async () => {
    const id = await scene.store('key', 'v');
    const path = `${CREDENTIALS}/${id}/bindings`;
    const first = await scene.call('POST', path, { agent_id: 'a' });
    const second = await scene.call('POST', path, { agent_id: 'a', on_demand: true });
    expect([second.status, second.json]).toEqual([201, { ...first.json, on_demand: true }]);
    expect((await scene.call('GET', path)).json).toHaveLength(1);
  });

  it('is found by either name of its agent, and taken away by either', async () => {
    const worker = await scene.worker('two-names');
    const agents = (await scene.call('GET', '/api/v1/agents')).json;
    const { agent_id: agentId } = agents.find(({ id_slug }: { id_slug: string }) => id_slug === worker.handle);
    const [one, two] = [await scene.store('one', 'v'), await scene.store('two', 'v')];
    await scene.bind(one, worker.handle);
    await scene.bind(two, agentId);
    for (const name of [worker.handle, agentId]) {
      const { json } = await scene.call('GET', `${CREDENTIALS}/by-agent/${name}`);
      expect(json.map(({ name: one }: { name: string }) => one)).toEqual(['one', 'two']);
    }
    expect((await scene.call('DELETE', `${CREDENTIALS}/${one}/bindings/${agentId}`)).status).toBe(204);
    expect((await scene.call('DELETE', `${CREDENTIALS}/${two}/bindings/${worker.handle}`)).status).toBe(204);
    expect((await scene.call('GET', `${CREDENTIALS}/by-agent/${agentId}`)).json).toEqual([]);
  });

  it('of nobody is not there', async () => {
    const id = await scene.store('key', 'v');
    const gone = await scene.call('DELETE', `${CREDENTIALS}/${id}/bindings/nobody`);
    expect([gone.status, gone.json.code]).toEqual([404, 'credential.binding_not_found']);
    const none = await scene.call('GET', `${CREDENTIALS}/by-agent/nobody`);
    expect([none.status, none.json.code]).toEqual([404, 'credential.agent_not_found']);
    await scene.bind(id, 'awaited');
    expect((await scene.call('GET', `${CREDENTIALS}/by-agent/awaited`)).json).toHaveLength(1);
  });

  it.each([
    [{}, 'agent_id'],
    [{ agent_id: '' }, 'agent_id'],
    [{ agent_id: 7 }, 'agent_id'],
    [{ agent_id: 'a\0' }, 'agent_id'],
    [{ agent_id: 'a'.repeat(201) }, 'agent_id'],
    [{ agent_id: 'a', on_demand: 'yes' }, 'on_demand'],
  ])('is refused at its place: %j', async (body, field) => {
    const id = await scene.store('key', 'v');
    const { status, json } = await scene.call('POST', `${CREDENTIALS}/${id}/bindings`, body);
    expect([status, json.detail[0].loc]).toEqual([422, ['body', field]]);
  });
});
