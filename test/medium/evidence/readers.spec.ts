import { once } from 'node:events';
import http from 'node:http';
import net from 'node:net';
import v8 from 'node:v8';
import vm from 'node:vm';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startApp } from '../../support/app.ts';
import { collect, type StreamEvent } from '../../support/events.ts';
import { DatabaseProxy } from '../../support/database-proxy.ts';
import { RestClient, eventually } from '../../support/rest.ts';
import { pause } from '../../support/stub-worker.ts';
import { Scene, log } from './scene.ts';

const MiB = 1024 * 1024;
const OPENINGS = 2_000;

let scene: Scene;
beforeAll(async () => {
  scene = await Scene.open({ env: { SIGNALBOX_STREAMS_PER_PRINCIPAL: '50', SIGNALBOX_STREAM_COMMENT_SECONDS: '0.1' } });
});
afterAll(() => scene.close());

/** Opens a stream and reads its head only; what follows stays where it is. */
async function openUnread(
  url: string,
  runId: string,
  key: string,
): Promise<{ readonly status: number; readonly close: () => void }> {
  const request = http.get(`${url}/api/v1/runs/${runId}/stream`, {
    agent: false,
    headers: { authorization: `Bearer ${key}` },
  });
  request.on('error', () => {});
  const [response] = (await once(request, 'response')) as [http.IncomingMessage];
  response.on('error', () => {}).pause();
  return { status: response.statusCode ?? 0, close: () => request.destroy() };
}

const collectGarbage = ((): (() => void) => {
  v8.setFlagsFromString('--expose-gc');
  return vm.runInNewContext('gc') as () => void;
})();

describe('the readers of a replica', () => {
  it('F-39: leave nothing behind: memory and handles stay flat, over thousands of them', async () => {
    const worker = await scene.worker();
    const runId = await scene.running(worker);
    await worker.send(runId, [log('something to read')]);
    const openAndClose = async (times: number): Promise<void> => {
      for (let opened = 0; opened < times; opened += 20) {
        const readers = await Promise.all(
          Array.from({ length: 20 }, () => openUnread(scene.app.url, runId, scene.key)),
        );
        expect(new Set(readers.map(({ status }) => status))).toEqual(new Set([200]));
        for (const { close } of readers) close();
      }
      await pause(300);
    };
    const measure = () => {
      collectGarbage();
      return { memory: process.memoryUsage().heapUsed, handles: process.getActiveResourcesInfo().length };
    };
    await openAndClose(400);
    const before = measure();
    await openAndClose(OPENINGS);
    const after = measure();
    expect(after.handles).toBeLessThanOrEqual(before.handles + 10);
    expect(after.memory - before.memory).toBeLessThan(OPENINGS * 1_024);
  }, 120_000);

  it('F-39: may be so many to a principal and no more; a place that is left is free again', async () => {
    const worker = await scene.worker();
    const runId = await scene.running(worker);
    const readers = await Promise.all(Array.from({ length: 50 }, () => openUnread(scene.app.url, runId, scene.key)));
    const refused = await scene.app.call('GET', `/api/v1/runs/${runId}/stream`, { key: scene.key });
    expect(refused).toMatchObject({
      status: 429,
      json: { code: 'stream.too_many', detail: expect.stringContaining('50') },
    });
    expect(refused.headers.get('retry-after')).not.toBeNull();
    readers[0]?.close();
    const place = await eventually(async () => {
      const reader = await openUnread(scene.app.url, runId, scene.key);
      expect(reader.status).toBe(200);
      return reader;
    });
    for (const { close } of [...readers, place]) close();
  });

  it('are kept alive while nothing happens', async () => {
    const worker = await scene.worker();
    const runId = await scene.running(worker);
    const response = await fetch(`${scene.app.url}/api/v1/runs/${runId}/stream`, {
      headers: { authorization: `Bearer ${scene.key}` },
    });
    let text = '';
    for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
      text += Buffer.from(chunk).toString();
      if (text.split(': keep-alive\n\n').length > 3) break;
    }
    expect(text.replaceAll(': keep-alive\n\n', '').split('\n\n').filter(Boolean)).toHaveLength(3);
    expect(response.headers.get('x-accel-buffering')).toBe('no');
  });

  it('lose their stream, with a word about it, when they may not read any more', async () => {
    const worker = await scene.worker();
    const runId = await scene.running(worker);
    const { json: made } = await scene.app.call('POST', '/api/v1/api-keys', {
      key: scene.key,
      body: { name: 'watcher', role_ids: ['role_viewer'] },
    });
    const reading = collect(new RestClient(scene.app.url, String(made.key)).runStream(runId));
    await pause(300);
    await scene.app.database.query(
      `DELETE FROM principal_role WHERE principal_id = (SELECT principal_id FROM api_key WHERE id = $1)`,
      [made.id ?? made.key_id],
    );
    await scene.app.database.query(`UPDATE credential_version SET version = version + 1`);
    const events = await reading;
    expect(events.at(-1)).toMatchObject({ event: 'error', data: { code: 'access.denied' } });
  });
});

describe('a reader that does not read', () => {
  it('U-23: is cut off, costs a bounded memory, and may resume', async () => {
    const limited = await Scene.open({ env: { SIGNALBOX_STREAMS_PER_PRINCIPAL: '1' } });
    try {
      const worker = await limited.worker();
      const runId = await limited.running(worker);
      const sockets = new Set<net.Socket>();
      limited.app.nest.getHttpServer().on('connection', (socket: net.Socket) => sockets.add(socket));
      const reader = await openUnread(limited.app.url, runId, limited.key);
      let most = 0;
      for (let batch = 0; batch < 200; batch += 1) {
        await worker.send(
          runId,
          Array.from({ length: 20 }, (_, index) => log(`${batch}.${index} ${'x'.repeat(10_000)}`)),
        );
        most = Math.max(most, ...[...sockets].map(({ writableLength }) => writableLength));
      }
      expect(most).toBeGreaterThan(MiB); // it was behind
      expect(most).toBeLessThan(MiB + 100_000); // and that was all that was kept for it, of forty
      const read: StreamEvent[] = [];
      await eventually(async () => {
        let left = 100;
        read.push(...(await collect(limited.rest.runStream(runId), () => (left -= 1) === 0)));
      });
      expect(read).toHaveLength(100);
      await eventually(async () => {
        const resumed = await collect(
          limited.rest.runStream(runId, { lastEventId: read.at(-1)?.id ?? '', follow: false }),
        );
        expect([...read, ...resumed].filter(({ event }) => event === 'run.event')).toHaveLength(4_000);
      });
      reader.close();
    } finally {
      await limited.close();
    }
  }, 90_000);

  it('reads slowly what is larger than its limit, and gets all of it', async () => {
    const limited = await Scene.open({ env: { SIGNALBOX_STREAM_BACKLOG_BYTES: '65536' } });
    try {
      const worker = await limited.worker();
      const runId = await limited.running(worker);
      await worker.complete(runId, { text: 'y'.repeat(5 * MiB) });
      const request = http.get(`${limited.app.url}/api/v1/runs/${runId}/stream`, {
        agent: false,
        headers: { authorization: `Bearer ${limited.key}` },
      });
      const [response] = (await once(request, 'response')) as [http.IncomingMessage];
      let bytes = 0;
      let tail = '';
      for await (const chunk of response as AsyncIterable<Buffer>) {
        bytes += chunk.length;
        tail = (tail + chunk.toString('latin1')).slice(-200);
        if (bytes % 7 === 0) await pause(5);
      }
      expect(bytes).toBeGreaterThan(20 * MiB);
      expect(tail).toMatch(/"tool_calls":0\}\n\n$/);
    } finally {
      await limited.close();
    }
  }, 60_000);
});

describe('a replica that goes away', () => {
  it('sends its readers to another one with their number, and does not wait for those that do not read', async () => {
    const leaving = await startApp({ database: scene.app.database });
    const worker = await scene.worker();
    const runId = await scene.running(worker);
    await worker.send(runId, [log('before'), log(`large ${'x'.repeat(60_000)}`)]);
    const idle = await Promise.all(Array.from({ length: 40 }, () => openUnread(leaving.url, runId, scene.key)));
    let seen = 0;
    const reading = collect(new RestClient(leaving.url, scene.key).runStream(runId), () => {
      seen += 1;
      return false;
    });
    await eventually(() => expect(seen).toBe(5)); // queued, claimed, started, and what was sent
    const leftAt = performance.now();
    await leaving.stop();
    expect(performance.now() - leftAt).toBeLessThan(10_000);
    const before = await reading;
    const last = before.at(-1);
    expect(last).toMatchObject({
      event: 'moved',
      data: { done: false, seq: Number(before.at(-2)?.id) },
      id: before.at(-2)?.id,
    });
    await worker.complete(runId, { text: 'end' });
    const after = await collect(scene.rest.runStream(runId, { lastEventId: last?.id ?? '' }));
    const whole = await collect(scene.rest.runStream(runId));
    expect([...before.slice(0, -1), ...after].map(({ id, event }) => [id, event])).toEqual(
      whole.map(({ id, event }) => [id, event]),
    );
    for (const { close } of idle) close();
  }, 30_000);
});

/** The way to the database, which can be blocked and opened. */
class Road {
  private readonly sockets = new Set<net.Socket>();
  private isOpen = true;
  private readonly server: net.Server;

  private constructor(target: URL) {
    this.server = net.createServer((client) => {
      if (!this.isOpen) return void client.destroy();
      const database = net.connect(Number(target.port), target.hostname);
      for (const socket of [client, database]) this.sockets.add(socket.on('error', () => {}));
      client.pipe(database).pipe(client);
      client.on('close', () => database.destroy());
      database.on('close', () => client.destroy());
    });
  }

  static async to(databaseUrl: string): Promise<{ readonly road: Road; readonly url: string }> {
    const url = new URL(databaseUrl);
    const road = new Road(new URL(databaseUrl));
    await once(road.server.listen(0, '127.0.0.1'), 'listening');
    url.port = String((road.server.address() as net.AddressInfo).port);
    return { road, url: url.toString() };
  }

  block(): void {
    this.isOpen = false;
    for (const socket of this.sockets) socket.destroy();
    this.sockets.clear();
  }

  open(): void {
    this.isOpen = true;
  }

  close(): void {
    this.block();
    this.server.close();
  }
}

describe('while the database is away', () => {
  it('a batch is held and stored once, and readers go on when it is back', async () => {
    let road: Road | undefined;
    const apart = await Scene.open({
      via: async (databaseUrl) => {
        const way = await Road.to(databaseUrl);
        road = way.road;
        return way.url;
      },
    });
    try {
      const worker = await apart.worker();
      const runId = await apart.running(worker);
      const reading = collect(apart.rest.runStream(runId));
      await worker.send(runId, [log('before')]);
      await pause(300);
      road?.block();
      const held = [1, 2, 3].map((number) => worker.send(runId, [log(`held ${number}`)]));
      await pause(1_200);
      road?.open();
      expect((await Promise.all(held)).map(({ status }) => status)).toEqual([202, 202, 202]);
      await eventually(async () => expect((await worker.complete(runId, { text: 'end' })).status).toBe(200));
      const events = await reading;
      expect(events.at(-1)?.event).toBe('done');
      const told = events.filter(({ event }) => event === 'run.event').map(({ data }) => data['content']);
      expect(told.toSorted()).toEqual(['before', 'held 1', 'held 2', 'held 3']);
    } finally {
      await apart.close();
      road?.close();
    }
  }, 30_000);

  it('a batch whose COMMIT was cut off is stored once, whichever side of it the cut was', async () => {
    let between: DatabaseProxy | undefined;
    const apart = await Scene.open({
      via: async (databaseUrl) => {
        const { proxy, url } = await DatabaseProxy.before(databaseUrl);
        between = proxy;
        return url;
      },
    });
    try {
      const worker = await apart.worker();
      const runId = await apart.running(worker);
      for (const [number, side] of (['after', 'before', 'after', 'before'] as const).entries()) {
        between?.loseNextCommit(side);
        expect((await worker.send(runId, [log(`line ${number}`)])).status).toBe(202);
      }
      expect((await apart.events(runId)).map(({ content }: { content: string }) => content)).toEqual([
        'line 0',
        'line 1',
        'line 2',
        'line 3',
      ]);
    } finally {
      await apart.close();
      await between?.close();
    }
  }, 30_000);
});
