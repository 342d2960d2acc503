import type { MemoryAnswer } from './processes.ts';

/**
 * Loaded into a process before its program (`node --expose-gc --import`): on a message from the bench it collects its
 * garbage and says what it holds. Without that, what a thousand connections cost disappears in garbage of more megabytes.
 */
process.on('message', (message) => {
  if (message !== 'memory') return;
  collect();
  collect(); // what the first one finalized
  const { rss, heapUsed, external } = process.memoryUsage();
  process.send?.({ rss, live: heapUsed + external } satisfies MemoryAnswer);
});
process.channel?.unref(); // the program ends when it wants to

/** As if memory had run out, so that pages that the heap took ahead go back as well. */
function collect(): void {
  globalThis.gc?.({ type: 'major', execution: 'sync', flavor: 'last-resort' });
}
