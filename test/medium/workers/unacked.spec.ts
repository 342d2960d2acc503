import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Sweeper } from '../../../src/platform/sweep/sweep.ts';
import { Channels } from '../../../src/workers/index.ts';
import { startApp, type Json, type RunningApp } from '../../support/app.ts';
import { DeadHost } from '../../support/dead-host.ts';
import { eventually } from '../../support/rest.ts';
import { pause, startStub } from '../../support/stub-worker.ts';
import { openChannel, tell, type Account } from './wire.ts';

/** The product's waits at a tenth. */
const LIMIT_MS = 2_000;
const env = { SIGNALBOX_CHANNEL_PING_SECONDS: '0.5', SIGNALBOX_UNACKED_SECONDS: String(LIMIT_MS / 1_000) };
const SILENT_MS = 1_100;

let app: RunningApp;
let account: Account;

beforeAll(async () => {
  app = await startApp({ env, host: '0.0.0.0' });
  account = await app.account();
});
afterAll(() => app.stop());

async function row(workerId: string): Promise<Json> {
  const [found] = await app.database.query(`SELECT unacked_since, channel_opened_at FROM worker WHERE id = $1`, [
    workerId,
  ]);
  return found;
}

async function show(workerId: string): Promise<Json> {
  return (await app.call('GET', `/api/v1/workers/${workerId}`, { key: account.key })).json;
}

const isLinux = process.platform === 'linux';

(isLinux ? describe : describe.skip)('what a machine does not acknowledge', () => {
  it('A4(c): is nothing of a worker that does not read: its kernel takes bytes until it is full, and then says so', async () => {
    const worker = await startStub(app, account.key, { handle: 'stopped' });
    const channel = await openChannel(app.url, worker);
    await eventually(async () => expect(await row(worker.id)).toMatchObject({ channel_opened_at: expect.any(Date) }));
    channel.pause();
    const hanging = app.nest.get(Channels).at(account.accountId, worker.id);
    const payload = { filler: 'x'.repeat(256 * 1024) };
    for (let sent = 0; sent < 100 && (hanging?.['sink'].pendingBytes ?? 0) === 0; sent += 1) {
      app.nest.get(Channels).send(account.accountId, worker.id, { id: 'm', type: 'cancel', payload });
      await pause(5);
    }
    expect(hanging?.['sink'].pendingBytes).toBeGreaterThan(0); // nothing more fits into the kernels
    await pause(SILENT_MS);
    for (let look = 0; look < 8; look += 1) {
      await app.nest.get(Sweeper).now('channels.unacked');
      expect(await row(worker.id)).toMatchObject({ unacked_since: null });
      await pause(100);
    }
    channel.close();
  });

  it('A4(c): is what was sent to a host that is dead: it is lost after the limit, and not before; a new channel begins anew', async () => {
    const host = DeadHost.make();
    if (!host) return; // network namespaces are not allowed here
    try {
      const worker = await startStub(app, account.key, { handle: 'dead' });
      await tell(worker, 'run_claim');
      host.open(Number(new URL(app.url).port), `/api/v1/workers/${worker.id}/channel`, worker.token);
      await eventually(async () => expect(await row(worker.id)).toMatchObject({ channel_opened_at: expect.any(Date) }));
      await pause(SILENT_MS + 500);
      expect(await row(worker.id)).toMatchObject({ unacked_since: null }); // it answers no ping, but its kernel does
      host.die();
      await eventually(async () => expect(await row(worker.id)).toMatchObject({ unacked_since: expect.any(Date) }));
      const { unacked_since: since } = await row(worker.id);
      await eventually(async () =>
        expect(await show(worker.id)).toMatchObject({
          ...{ state: 'offline', excluded_by: 'worker.offline', lost: { rule: 'unacknowledged' } },
          lights: { process: { state: 'ok' } },
        }),
      );
      const { lost } = await show(worker.id);
      expect(Date.parse(lost.at) - since.getTime()).toBeGreaterThanOrEqual(LIMIT_MS);
      await worker.open();
      await eventually(async () => expect(await show(worker.id)).toMatchObject({ state: 'online', lost: null }));
      expect(await row(worker.id)).toMatchObject({ unacked_since: null });
      worker.close();
    } finally {
      host.remove();
    }
  }, 30_000);
});
