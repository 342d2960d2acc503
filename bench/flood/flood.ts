import { fork } from 'node:child_process';
import { once } from 'node:events';
import { siblingModule } from '../stage/processes.ts';
import type { FloodOrder, FloodTally } from './orders.ts';

/** Events of one batch, as the target has it. */
export const EVENTS_A_BATCH = 100;

/** Sends batches of events from a process of its own, heeding nothing that the server says. Answers when the last was answered. */
export async function flood(order: FloodOrder): Promise<FloodTally> {
  const child = fork(siblingModule(import.meta.filename, 'flood-process'));
  try {
    child.send(order);
    const ended = once(child, 'exit').then(() => {
      throw new Error('the flood ended without a word');
    });
    const [tally] = await Promise.race([once(child, 'message') as Promise<[FloodTally]>, ended]);
    ended.catch(() => {}); // it ends now
    return tally;
  } finally {
    child.kill('SIGKILL');
  }
}
