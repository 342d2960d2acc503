import { expect, it } from '@jest/globals';
import { Scene, ended, started } from './scene.ts';

it('the skills of a run are shown by the name that its worker gave them, with those that match, and none is guessed', async () => {
  const scene = await Scene.open();
  try {
    const [worker, other] = [await scene.worker(), await scene.worker()];
    const skill = {
      skill_id: 'sk-look',
      name: 'looking',
      description: 'Looks',
      tags: ['a'],
      content: 'secret text',
      md5: 'm1',
      path: 'x.md',
    };
    for (const one of [worker, other])
      await one.frame('register', {
        manifest: {
          agent_id: one.handle,
          name: one.handle,
          version: '2.0.0',
          wire_protocol_version: 2,
          sdk_version: '0.4.13',
          agent_card: { name: one.handle },
        },
        skills: [skill],
        skills_hash: 'h2',
      });
    const runId = await scene.running(worker);
    await worker.send(runId, [
      started('one', { payload: { args: {}, skill_name: 'looking' } }),
      ended('one', { payload: { result: 1, skill_name: 'looking' } }),
      started('two', { payload: { skill_name: 'unheard of' } }),
      started('three', { payload: { skill_name: 7 } }),
    ]);
    const skills = await scene.get(`/api/v1/runs/${runId}/skills`);
    expect(skills).toMatchObject({
      looking: [
        {
          skill_id: 'sk-look',
          name: 'looking',
          description: 'Looks',
          tags: ['a'],
          md5: 'm1',
          path: 'x.md',
          version: null,
        },
      ],
      'unheard of': [],
    });
    expect(skills.looking[0].source_agents).toHaveLength(2);
    expect(JSON.stringify(skills)).not.toContain('secret text');
    const stranger = await scene.app.account();
    expect((await scene.app.call('GET', `/api/v1/runs/${runId}/skills`, { key: stranger.key })).status).toBe(404);
  } finally {
    await scene.close();
  }
});
