import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { memoryOf, PROBED, siblingModule, type MemoryAnswer } from '../stage/processes.ts';

/** Floor of an idle worker's channel: raw `node:http` event streams in a process of their own. */
export class ChannelFloor {
  readonly url: string;
  private readonly child: ChildProcess;

  private constructor(child: ChildProcess, port: number) {
    this.child = child;
    this.url = `http://127.0.0.1:${port}`;
  }

  static async start(): Promise<ChannelFloor> {
    const child = fork(siblingModule(import.meta.filename, 'channel-floor-process'), { execArgv: [...PROBED] });
    const [port] = (await once(child, 'message')) as [number];
    return new ChannelFloor(child, port);
  }

  memory(): Promise<MemoryAnswer> {
    return memoryOf(this.child);
  }

  async stop(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const exited = once(this.child, 'exit');
    this.child.kill();
    await exited;
  }
}
