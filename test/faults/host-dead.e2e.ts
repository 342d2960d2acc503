import { execFileSync } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { IS_SOAK, patience, scaled } from '../support/faults/factor.ts';
import { inWorld, type World } from '../support/faults/world.ts';
import { eventually } from '../support/rest.ts';

jest.setTimeout(patience(600));

const NAMESPACE = 'signalbox-faults';
const OURS = 'sbxfaults0';
const THEIRS = 'sbxfaults1';
const HOST = '10.231.77.1';
const GUEST = '10.231.77.2';

const ip = (...words: readonly string[]): void => void execFileSync('ip', [...words], { stdio: 'pipe' });

/** Why there can be no dead host here, or nothing. */
function obstacle(): string | undefined {
  if (!IS_SOAK) return 'it is part of npm run soak only';
  try {
    raise();
    return undefined;
  } catch (error) {
    return `a network namespace cannot be made here, which needs Linux and root: ${String(error).split('\n')[0]}`;
  } finally {
    clear();
  }
}

/** A machine of its own for one worker, on a cable to ours. */
function raise(): void {
  ip('netns', 'add', NAMESPACE);
  ip('link', 'add', OURS, 'type', 'veth', 'peer', 'name', THEIRS, 'netns', NAMESPACE);
  ip('address', 'add', `${HOST}/24`, 'dev', OURS);
  ip('link', 'set', OURS, 'up');
  ip('-n', NAMESPACE, 'address', 'add', `${GUEST}/24`, 'dev', THEIRS);
  ip('-n', NAMESPACE, 'link', 'set', THEIRS, 'up');
}

function clear(): void {
  for (const words of [
    ['netns', 'delete', NAMESPACE],
    ['link', 'delete', OURS],
  ]) {
    try {
      ip(...words);
    } catch {
      continue; // it is not there
    }
  }
}

/** A worker on the other machine; what it holds when the cable is pulled is up to its choices. */
async function onDeadHost(
  choices: { readonly startAfterMs?: number },
  work: (world: World, pull: () => void) => Promise<void>,
): Promise<void> {
  await inWorld({ env: () => ({ HOST: '0.0.0.0' }) }, async (world) => {
    const url = `http://${HOST}:${new URL(world.server.url).port}`;
    const within = ['ip', 'netns', 'exec', NAMESPACE];
    await world.startWorker({ url, within, handlerMs: [scaled(600), scaled(600)], ...choices });
    await work(world, () => ip('link', 'set', OURS, 'down'));
  });
}

const missing = obstacle();
if (missing !== undefined) process.stdout.write(`\nfaults: NOT RUN: a host that dies: ${missing}\n\n`);

(missing === undefined ? describe : describe.skip)('B-8: the host of a worker is gone, and its sockets with it', () => {
  beforeAll(raise);
  afterAll(clear);

  it('what it had claimed is done by another within 30 s', async () => {
    ip('link', 'set', OURS, 'up');
    await onDeadHost({ startAfterMs: scaled(600) }, async (world, pull) => {
      const load = world.load({ total: 1, clients: 1 });
      await load.finished();
      const claimed = [{ status: 'claimed' }];
      await eventually(async () => expect(await world.server.query('SELECT status FROM run')).toEqual(claimed));
      await world.startWorker();
      pull();
      const before = performance.now();
      const count = await world.audit(load, { withinSeconds: 30 });
      expect(performance.now() - before).toBeLessThan(scaled(30) + 5_000);
      expect(count).toMatchObject({ succeeded: 1, entries: 1 });
    });
  });

  it('what it had started fails as worker_lost within 30 s', async () => {
    ip('link', 'set', OURS, 'up');
    await onDeadHost({}, async (world, pull) => {
      const load = world.load({ total: 1, clients: 1 });
      await load.finished();
      await eventually(() => expect(world.entries()).toHaveLength(1));
      pull();
      const before = performance.now();
      const count = await world.audit(load, { withinSeconds: 30 });
      expect(performance.now() - before).toBeLessThan(scaled(30) + 5_000);
      expect(count.codes).toEqual({ 'end.worker_lost': 1 });
    });
  });
});
