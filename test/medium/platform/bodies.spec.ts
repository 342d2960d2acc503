import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import http from 'node:http';
import { startApp, type RunningApp } from '../../support/app.ts';
import { eventually } from '../../support/rest.ts';
import { startStub } from '../../support/stub-worker.ts';

const KiB = 1_024;
const ALL = 64 * KiB;
const WAIT_MS = 400;

let app: RunningApp;
beforeAll(async () => {
  app = await startApp({
    env: {
      SIGNALBOX_BODIES_LIMIT_BYTES: String(ALL),
      SIGNALBOX_TURN_WAIT_SECONDS: String(WAIT_MS / 1_000),
      SIGNALBOX_EVENTS_WAIT_SECONDS: '5',
    },
  });
});
afterAll(() => app.stop());

/** An account whose key the replica has seen. */
async function account(): Promise<string> {
  const { key } = await app.account();
  expect((await app.call('GET', '/api/v1/agents', { key })).status).toBe(200);
  return key;
}

/** Announces a body, sends a part of it, and then nothing more. */
async function stall(key: string, bytes: number): Promise<http.ClientRequest> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'content-length': bytes };
  const request = http.request(`${app.url}/api/v1/runs`, { method: 'POST', agent: false, headers });
  request.on('error', () => {}); // it is cut below
  request.write('{"agent_id": ');
  await once(request, 'socket');
  await new Promise((resolve) => setTimeout(resolve, 100)); // until the server has its head
  return request;
}

const upload = (key: string, bytes: number) =>
  app.call('POST', '/api/v1/runs', { key, body: { agent_id: 'nobody', input: { text: 'x'.repeat(bytes) } } });

describe('a large body', () => {
  it('waits unread while its account has too many bytes under way, and is then 429 with Retry-After', async () => {
    const [flood, other] = [await account(), await account()];
    const stalled = await stall(flood, ALL / 2);
    const beganAt = performance.now();
    const refused = await upload(flood, ALL / 2);
    expect(refused).toMatchObject({ status: 429, json: { code: 'overload.bytes' } });
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    expect(performance.now() - beganAt).toBeGreaterThan(WAIT_MS / 2);
    expect((await upload(flood, 1 * KiB)).status).toBe(404); // let in, and there is no such agent
    expect((await upload(other, 10 * KiB)).status).toBe(404);
    stalled.destroy();
    await eventually(async () => expect((await upload(flood, ALL / 2)).status).toBe(404));
  });

  it('of nobody known is not in the way of those who are', async () => {
    const known = await account();
    const strangers = [await stall('sbx_nobody', ALL / 2), await stall('sbx_nobody_else', ALL / 2)];
    expect((await upload(known, ALL / 2)).status).toBe(404);
    for (const stranger of strangers) stranger.destroy();
  });

  it('is given back its room by every answer', async () => {
    const key = await account();
    for (let turn = 0; turn < 20; turn += 1) {
      expect((await upload(key, ALL / 2)).status).toBe(404);
      const noJson = await app.call('POST', '/api/v1/runs', { key, body: `[${' '.repeat(ALL / 2)}` });
      expect(noJson.status).toBe(422);
    }
  });
});

describe('a worker’s frame', () => {
  it('of events is held back, not refused, until there is room; a claim comes in beside it', async () => {
    const key = await account();
    const worker = await startStub(app, key, { handle: 'held-back' });
    const { json } = await app.call('POST', '/api/v1/runs', { key, body: { agent_id: 'held-back', input: {} } });
    expect((await worker.claim()).run_id).toBe(json.run_id);
    const stalled = await stall(key, ALL / 2);
    const beganAt = performance.now();
    const sent = worker.send(json.run_id, [{ event_type: 'log.created', content: 'x'.repeat(ALL / 2) }]);
    expect((await worker.start(json.run_id)).payload.accepted).toBe(true);
    expect((await worker.claim({ holds: [json.run_id] })) ?? null).toBeNull();
    setTimeout(() => stalled.destroy(), 2 * WAIT_MS);
    expect((await sent).status).toBe(202);
    expect(performance.now() - beganAt).toBeGreaterThan(WAIT_MS);
    const events = await app.call('GET', `/api/v1/runs/${json.run_id}/events?type=log.created`, { key });
    expect(events.json).toHaveLength(1);
  });
});
