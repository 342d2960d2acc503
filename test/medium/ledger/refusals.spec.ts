import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startApp, type Json, type Method } from '../../support/app.ts';
import { Scene } from '../evidence/scene.ts';

let scene: Scene;
beforeAll(async () => {
  scene = await Scene.open();
});
afterAll(() => scene.close());

describe('U-31: a refusal', () => {
  const runs = '/api/v1/runs';
  const key = () => scene.key;
  const CASES: readonly (readonly [number, Method, string, () => object])[] = [
    [401, 'GET', runs, () => ({})],
    [404, 'GET', `${runs}/none`, () => ({ key: key() })],
    [404, 'POST', '/nowhere', () => ({ key: key(), body: {} })],
    [413, 'POST', runs, () => ({ key: key(), body: `{"agent_id":"x"}${' '.repeat(9 * 1024 * 1024)}` })],
    [415, 'POST', runs, () => ({ key: key(), body: 'x', headers: { 'content-type': 'text/plain' } })],
    [422, 'POST', runs, () => ({ key: key(), body: '{' })],
    [422, 'GET', `${runs}?limit=none`, () => ({ key: key() })],
    [431, 'GET', runs, () => ({ key: key(), headers: { 'x-heavy': 'x'.repeat(17_000) } })],
  ];

  it.each(CASES)('%i of %s %s has one shape, and no stack or SQL in it', async (status, method, path, options) => {
    expectShape(status, await scene.app.call(method, path, options()));
  });

  it('403, 409, 429 and 500 have the same', async () => {
    const worker = await scene.worker();
    const { json: viewer } = await scene.app.call('POST', '/api/v1/api-keys', {
      key: scene.key,
      body: { name: 'viewer', role_ids: ['role_viewer'] },
    });
    expectShape(403, await scene.app.call('POST', runs, { key: viewer.key, body: { agent_id: worker.handle } }));
    const order = (input: object) =>
      scene.rest.call('POST', runs, {
        body: { agent_id: worker.handle, input },
        headers: { 'idempotency-key': `k-${worker.id}` },
      });
    await order({ n: 1 });
    const conflict = await order({ n: 2 });
    expectShape(409, { status: conflict.status, json: conflict.body, text: JSON.stringify(conflict.body) });
    await scene.app.database.query(`
      CREATE FUNCTION break_run() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'planted'; END $$;
      CREATE TRIGGER break_run BEFORE INSERT ON run FOR EACH ROW EXECUTE FUNCTION break_run()`);
    try {
      expectShape(500, await scene.app.call('POST', runs, { key: scene.key, body: { agent_id: worker.handle } }));
    } finally {
      await scene.app.database.query('DROP TRIGGER break_run ON run; DROP FUNCTION break_run()');
    }
    const few = await startApp({
      database: scene.app.database,
      env: { SIGNALBOX_STREAMS_PER_PRINCIPAL: '1', SIGNALBOX_DRAIN_SECONDS: '1' },
    });
    try {
      const runId = await scene.queue(worker);
      const held = await fetch(`${few.url}${runs}/${runId}/stream`, {
        headers: { authorization: `Bearer ${scene.key}` },
      });
      expectShape(429, await few.call('GET', `${runs}/${runId}/stream`, { key: scene.key }));
      await held.body?.cancel();
    } finally {
      await few.stop();
    }
  });

  function expectShape(expected: number, { status, json, text }: { status: number; json: Json; text: string }): void {
    expect({ status, json }).toEqual({
      status: expected,
      json: {
        detail: expected === 422 ? expect.any(Array) : expect.any(String),
        code: expect.stringMatching(/^[a-z_]+(\.[a-z_]+)*$/),
        request_id: expect.stringMatching(/\S/),
      },
    });
    expect(text).not.toMatch(/\bat .*\.[tj]s:\d|SELECT|INSERT|node_modules|planted/);
  }
});
