import { once } from 'node:events';
import net from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Presence } from '../../../src/workers/index.ts';
import { startApp, type Json, type RunningApp } from '../../support/app.ts';
import { eventually } from '../../support/rest.ts';
import { pause, type StubWorker } from '../../support/stub-worker.ts';
import { Scene, log } from '../evidence/scene.ts';
import { manifestOf, openChannel, register, tell } from '../workers/wire.ts';

const PING_SECONDS = 0.2;

let scene: Scene;
beforeAll(async () => {
  scene = await Scene.open({ env: { SIGNALBOX_CHANNEL_PING_SECONDS: String(PING_SECONDS) } });
});
afterAll(() => scene.close());

const agent = (handle: string, of = scene): Promise<Json> => of.get(`/api/v1/agents/${handle}`);

/** How each light of a worker stands, and what is said of its agent. */
async function lights({ id }: StubWorker): Promise<Json> {
  const worker = await scene.get(`/api/v1/workers/${id}`);
  return Object.fromEntries(Object.entries(worker.lights).map(([name, light]) => [name, (light as Json).state]));
}

describe('what an agent advertises', () => {
  it('K-4: follows the newest register frame: a skill that was renamed is there under its new name only', async () => {
    const worker = await scene.worker();
    const cardOf = (...names: string[]) => ({
      agent_card: { name: worker.handle, skills: names.map((name) => ({ id: name, name })) },
    });
    const skills = async () => (await agent(worker.handle)).agent_card.skills.map(({ name }: { name: string }) => name);
    await register(worker, manifestOf(worker.handle, cardOf('greet', 'count')));
    expect(await skills()).toEqual(['greet', 'count']);
    await register(worker, manifestOf(worker.handle, cardOf('greet', 'sum')));
    expect(await skills()).toEqual(['greet', 'sum']);
  });

  it('K-15: whether it is enabled and whether its token is valid are shown apart, in all four combinations', async () => {
    const worker = await scene.worker();
    const { handle } = worker;
    const shown = async () => {
      const token = await scene.get(`/api/v1/agents/${handle}/token`);
      return { enabled: (await agent(handle)).is_enabled, token: token.exists };
    };
    const enable = (enabled: boolean) =>
      scene.app.database.query('UPDATE agent SET is_enabled = $2 WHERE handle = $1', [handle, enabled]);
    const combinations: unknown[] = [await shown()];
    await enable(false);
    combinations.push(await shown());
    expect((await worker.frame('heartbeat')).status).toBe(200);
    await scene.app.call('DELETE', `/api/v1/agents/${handle}/token`, { key: scene.key });
    combinations.push(await shown());
    await enable(true);
    combinations.push(await shown());
    expect((await worker.frame('heartbeat')).status).toBe(401);
    expect(combinations).toEqual([
      { enabled: true, token: true },
      { enabled: false, token: true },
      { enabled: false, token: false },
      { enabled: true, token: false },
    ]);
  });
});

describe('the signs of a worker', () => {
  it('K-6: one that is left out makes no agent flap; when no more come it is offline', async () => {
    const quick = await Scene.open({ env: { SIGNALBOX_PRESENCE_WINDOW_SECONDS: '4' } });
    try {
      const worker = await quick.worker();
      const seen = new Set<string>();
      const watchFor = async (milliseconds: number): Promise<void> => {
        for (const until = Date.now() + milliseconds; Date.now() < until; await pause(100))
          seen.add((await agent(worker.handle, quick)).status);
      };
      for (const gap of [1_400, 2_800, 1_400]) {
        await tell(worker, 'keep_alive');
        await watchFor(gap);
      }
      expect([...seen]).toEqual(['online']);
      await eventually(async () => expect((await agent(worker.handle, quick)).status).toBe('offline'));
    } finally {
      await quick.close();
    }
  });

  it('K-28: events, channel, claim and process are broken in turn, and each dims its own light only', async () => {
    const worker = await scene.worker();
    const age = async (sql: string): Promise<void> => {
      await scene.app.nest.get(Presence).flush();
      await scene.app.database.query(`UPDATE worker SET ${sql} WHERE id = $1`, [worker.id]);
    };
    const channel = await openChannel(scene.app.url, worker);
    const alive = async (): Promise<void> => {
      const pings = channel.of('ping').length;
      await eventually(() => expect(channel.of('ping').length).toBeGreaterThan(pings));
      await tell(worker, 'pong', { nonce: channel.of('ping').at(-1).payload.nonce });
    };
    const runId = await scene.running(worker);
    await worker.send(runId, [log('said')]);
    await alive();
    const lit = { process: 'ok', channel: 'ok', claim: 'ok', events: 'ok' };
    expect(await lights(worker)).toEqual(lit);

    await scene.app.database.query(`UPDATE run SET started_at = now() - interval '5 min' WHERE id = $1`, [runId]);
    await age(`last_events_at = now() - interval '61 s'`);
    expect(await lights(worker)).toEqual({ ...lit, events: 'stale' });
    await worker.send(runId, [log('said again')]);
    await eventually(async () => expect(await lights(worker)).toEqual(lit));

    await worker.complete(runId, {});
    await worker.claim();
    const idle = { ...lit, events: 'unused' };
    await alive();
    await age(`registered_at = now() - interval '5 min', last_claim_at = now() - interval '26 s'`);
    await alive();
    expect(await lights(worker)).toEqual({ ...idle, claim: 'stale' });
    await worker.claim();
    await alive();
    expect(await lights(worker)).toEqual(idle);

    await age(`last_seen_at = now() - interval '91 s'`);
    expect(await lights(worker)).toEqual({ ...idle, process: 'down' });
    await tell(worker, 'keep_alive');
    channel.close();
    await eventually(async () => expect(await lights(worker)).toEqual({ ...idle, channel: 'down' }));
  }, 30_000);

  it('K-29: an idle worker is asked nothing but pings, and nobody connects to the address that it offers', async () => {
    let connections = 0;
    const offered = net.createServer((socket) => {
      connections += 1;
      socket.destroy();
    });
    await once(offered.listen(0, '127.0.0.1'), 'listening');
    const worker = await scene.worker();
    const { port } = offered.address() as net.AddressInfo;
    const endpoint = { endpoint_url: `http://127.0.0.1:${port}` };
    await register(worker, manifestOf(worker.handle, endpoint));
    await worker.claim();
    const channel = await openChannel(scene.app.url, worker);
    await pause(3_000);
    const frames = channel.text.split('\n\n').filter((event) => event.startsWith('event:'));
    expect(frames.length).toBeGreaterThan(5);
    expect(channel.of('ping')).toHaveLength(frames.length);
    expect(frames.length).toBeLessThanOrEqual(3 / PING_SECONDS + 1);
    const runId = await scene.queue(worker);
    expect((await worker.serve()).run_id).toBe(runId);
    expect(connections).toBe(0);
    channel.close();
    offered.close();
  });
});

describe('a worker token', () => {
  let other: RunningApp;
  beforeAll(async () => {
    other = await startApp({ database: scene.app.database });
  });
  afterAll(() => other.stop());

  /** Asks every worker interface of both replicas with a token, and gives the statuses. */
  async function everywhere(worker: StubWorker, key: string, runId: string): Promise<number[]> {
    const statuses: number[] = [];
    for (const { url, call } of [scene.app, other]) {
      const id = `${worker.id}-elsewhere`;
      const channel = await openChannel(url, { id, token: key });
      channel.close();
      const frame = { id: 'msg_x', type: 'heartbeat', payload: {}, needsReply: true };
      const body = { worker_id: worker.id, events: [log('said')] };
      const message = { worker_id: worker.id, content: 'said' };
      statuses.push(
        channel.status,
        (await call('POST', `/api/v1/workers/${worker.id}/frames`, { key, body: frame })).status,
        (await call('POST', `/api/v1/runs/${runId}/events`, { key, body })).status,
        (await call('POST', `/api/v1/runs/${runId}/messages`, { key, body: message })).status,
      );
    }
    return statuses;
  }

  it('K-13: once rotated fails on the very next request, on every worker interface of every replica; the new one works', async () => {
    const worker = await scene.worker();
    const runId = await scene.running(worker);
    const all = (status: number) => Array.from({ length: 8 }, () => status);
    expect(await everywhere(worker, worker.token, runId)).toEqual(all(200));
    const { json } = await scene.app.call('POST', '/api/v1/agents/worker-token', {
      key: scene.key,
      body: { agentId: worker.handle },
    });
    expect(await everywhere(worker, worker.token, runId)).toEqual(all(401));
    expect(await everywhere(worker, json.token, runId)).toEqual(all(200));
  });

  it('K-14: once revoked ends the open channel, and a job that is queued afterwards reaches nobody', async () => {
    const worker = await scene.worker();
    await worker.claim();
    const channels = [await openChannel(scene.app.url, worker)];
    await scene.app.call('DELETE', `/api/v1/agents/${worker.handle}/token`, { key: scene.key });
    await eventually(() => expect(channels.every(({ isOver }) => isOver)).toBe(true), { within: 3_000 });
    const runId = await scene.queue(worker);
    for (const { url } of [scene.app, other]) expect((await openChannel(url, worker)).status).toBe(401);
    expect((await worker.frame('run_claim')).status).toBe(401);
    await pause(300);
    for (const channel of channels) expect([channel.of('work_available'), channel.isOver]).toEqual([[], true]);
    expect(await scene.run(runId)).toMatchObject({ status: 'queued', worker_id: null });
  });
});
