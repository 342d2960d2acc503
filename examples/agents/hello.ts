/** An agent: it looks up the time with a tool and tells it word by word. It needs no model and no key of one. */

import { setTimeout as pause } from 'node:timers/promises';
import { runAgent } from '../worker/src/index.ts'; // in a package of your own: '@signalbox/worker'

interface Ask {
  readonly name?: string;
}

await runAgent<Ask>({
  agent: {
    id: 'hello',
    name: 'Hello',
    description: 'Greets, and tells the time.',
    version: '1.0.0',
    tools: ['clock'],
    inputSchema: { type: 'object', properties: { name: { type: 'string' } } },
  },
  maxConcurrent: 4,
  async onRun(run) {
    await run.message('looking at the clock');
    const time = await run.tool('clock', { zone: 'UTC' }, async () => new Date().toISOString());
    for (const word of `Hello, ${run.input.name ?? 'world'}! It is ${time}.`.split(' ')) {
      await run.append(run.text === '' ? word : ` ${word}`);
      await pause(100, undefined, { signal: run.signal }); // a cancelled run ends here
    }
    return run.text;
  },
});
