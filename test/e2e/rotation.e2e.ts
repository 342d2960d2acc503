import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { call } from '../support/app.ts';
import { RestClient, eventually } from '../support/rest.ts';
import { startServer, type RunningServer } from '../support/server.ts';
import { startStub } from '../support/stub-worker.ts';

jest.setTimeout(180_000); // starts and kills on a busy machine

const VALUES = 2_000;
const KILLS = 2;
const valueOf = (at: number): string => `hush-${at}-`.padEnd(4_000, 'x');

interface Rotation {
  readonly rotation_id: string;
  readonly state: string;
  readonly done: number;
  readonly total: number;
  readonly to_key: string;
}

let server: RunningServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

const rest = (): RestClient => new RestClient(server.url, server.key);

async function storeBound(handle: string): Promise<void> {
  const one = async (at: number): Promise<void> => {
    const { id } = await rest().ask<{ id: string }>('POST', '/api/v1/credentials', {
      body: { name: `c-${at}`, value: valueOf(at) },
    });
    await rest().ask('POST', `/api/v1/credentials/${id}/bindings`, { body: { agent_id: handle } });
  };
  for (let at = 0; at < VALUES; at += 20) await Promise.all(Array.from({ length: 20 }, (_, index) => one(at + index)));
}

async function doneSoFar(): Promise<number> {
  const [row] = await server.query<{ done: number }>(`SELECT done FROM key_rotation WHERE state = 'running'`);
  return row?.done ?? VALUES;
}

describe('U-39: a rotation whose process is killed in the middle', () => {
  it('goes on by itself at the next start, and no value is lost', async () => {
    const handle = 'keeps-everything';
    const worker = await startStub({ url: server.url, call: (...asked) => call(server.url, ...asked) }, server.key, {
      handle,
    });
    await storeBound(handle);
    const begun = await rest().ask<Rotation>('POST', '/api/v1/vault/rotate-key');
    expect(begun).toMatchObject({ state: 'running', total: VALUES });
    const killedAt: number[] = [];
    for (let seen = 0; killedAt.length < KILLS && seen < VALUES;) {
      if ((await doneSoFar()) <= seen) {
        await sleep(2);
        continue;
      }
      await server.kill();
      seen = await doneSoFar();
      killedAt.push(seen);
      await server.restart();
    }
    expect(killedAt[0]).toBeLessThan(VALUES); // or nothing was interrupted
    const ended = await eventually(
      async () => {
        const rotation = await rest().ask<Rotation>('GET', `/api/v1/vault/rotations/${begun.rotation_id}`);
        expect(rotation.state).toBe('done');
        return rotation;
      },
      { within: 60_000 },
    );
    expect(ended).toMatchObject({ done: VALUES, total: VALUES });
    const keys = await server.query(`SELECT DISTINCT sealed_key_id AS id FROM credential_value`);
    expect(keys).toEqual([{ id: begun.to_key }]);
    await rest().ask('POST', '/api/v1/runs', { body: { agent_id: handle } });
    const { secrets } = await worker.at(server.url).claimSoon();
    const wrong = Array.from({ length: VALUES }, (_, at) => at).filter((at) => secrets[`c-${at}`] !== valueOf(at));
    expect([Object.keys(secrets).length, wrong]).toEqual([VALUES + 1, []]);
    expect(server.log()).not.toContain('hush-');
  });
});
