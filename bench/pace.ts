import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Sends at a fixed rate, whatever has become of what was sent before: a server that falls behind is not spared. Each call
 * is told the moment it was due, and times itself from there, so that a late sender is not taken for a fast answer.
 */
export async function atRate<T>(
  { perSecond, seconds }: { readonly perSecond: number; readonly seconds: number },
  send: (dueAt: number) => Promise<T>,
): Promise<readonly T[]> {
  const start = performance.now();
  const sent: Promise<T>[] = [];
  for (let due = start; sent.length < perSecond * seconds; due = start + (sent.length * 1000) / perSecond) {
    const wait = due - performance.now();
    if (wait > 0) await sleep(wait);
    sent.push(send(due));
  }
  return Promise.all(sent);
}
