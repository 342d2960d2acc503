import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { describeSdk } from '../support/python.ts';
import { eventually } from '../support/rest.ts';
import { World } from './world.ts';

const ENV = {
  SIGNALBOX_OUTBOUND_ALLOW: '127.0.0.1',
  SIGNALBOX_DIRECT_AFTER_SECONDS: '1',
  SIGNALBOX_SWEEP_SECONDS: '0.2',
};

/** Before the control plane: lets everything of a worker pass but its channel and its claims. */
async function deaf(url: string): Promise<http.Server> {
  const target = new URL(url);
  const server = http.createServer((request, response) => {
    if (/\/channel$|\/runs\/claim$/.test(request.url ?? '')) return void response.writeHead(503).end();
    const headers = { ...request.headers, host: target.host };
    const upstream = http.request(
      new URL(request.url ?? '/', target),
      { method: request.method, headers },
      (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      },
    );
    upstream.on('error', () => response.destroy());
    request.pipe(upstream);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return server;
}

await describeSdk(
  'a worker whose channel and claims do not come through',
  (sdk) => {
    let world: World;
    let ingress: http.Server;
    beforeAll(async () => {
      world = await World.open({ env: ENV });
      ingress = await deaf(world.server.url);
      const url = `http://127.0.0.1:${(ingress.address() as AddressInfo).port}`;
      await world.worker(sdk, 'dialled', { script: 'dialled.py', url });
    }, 120_000);
    afterAll(async () => {
      ingress.close();
      ingress.closeAllConnections();
      await world.close();
    });

    it('is dialled at its own address: input, output, usage and events go as they should', async () => {
      const { run_id } = await world.createRun('dialled', { prompt: 'hi', nested: { list: [1, 'ü', null, true] } });
      const run = await world.ended(run_id);
      expect(run).toMatchObject({
        status: 'succeeded',
        output: { text: 'done', input: { prompt: 'hi', nested: { list: [1, 'ü', null, true] } } },
        usage: { input_tokens: 3, output_tokens: 4, total_tokens: 7 },
      });
      const attempts = await world.rest.ask<unknown>('GET', `/api/v1/runs/${run_id}/attempts`);
      expect(attempts).toMatchObject([{ attempt: 1, path: 'direct', end: 'end.succeeded' }]);
      await eventually(
        async () => {
          const events = await world.rest.ask<{ event_type: string }[]>('GET', `/api/v1/runs/${run_id}/events`);
          const types = events.map(({ event_type }) => event_type);
          expect(types).toEqual(expect.arrayContaining(['log.created', 'message.created']));
        },
        { within: 20_000 },
      );
    }, 60_000);

    it('that fails ends its run by its own word', async () => {
      const { run_id } = await world.createRun('dialled', { fail: true });
      expect(await world.ended(run_id)).toMatchObject({
        status: 'failed',
        error: expect.stringContaining('as it was told'),
      });
    }, 60_000);

    it('stops when the run is cancelled', async () => {
      const { run_id } = await world.createRun('dialled', { seconds: 60 });
      await world.reached(run_id, 'running');
      await world.cancel(run_id, 'enough');
      await eventually(
        async () => {
          const { reason } = await world.rest.ask<{ reason: { code: string } }>(
            'GET',
            `/api/v1/runs/${run_id}/explain`,
          );
          expect(reason.code).toBe('end.cancelled'); // not `cancelling`: the worker took it
        },
        { within: 20_000 },
      );
    }, 60_000);
  },
  ['0.1.1'],
);
