import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { siblingModule } from '../stage/processes.ts';
import type { AnswerMessage, Headcount, Order, OrderMessage } from './orders.ts';

/**
 * A crowd of workers in a process of its own: what it costs is then neither the server's nor in the way of whoever
 * measures, and it can be killed.
 */
export class Crowd {
  private readonly child: ChildProcess;
  private readonly waiting = new Map<number, PromiseWithResolvers<Headcount>>();
  private orders = 0;

  private constructor(child: ChildProcess) {
    this.child = child;
    child.on('message', ({ number, headcount, error }: AnswerMessage) => {
      const asked = this.waiting.get(number);
      this.waiting.delete(number);
      if (headcount) asked?.resolve(headcount);
      else asked?.reject(new Error(`the crowd failed: ${error ?? 'without a word'}`));
    });
    child.once('exit', () => {
      for (const { reject } of this.waiting.values()) reject(new Error('the crowd ended'));
      this.waiting.clear();
    });
  }

  /** An empty crowd. */
  static start(): Crowd {
    return new Crowd(fork(siblingModule(import.meta.filename, 'crowd-process')));
  }

  /** Has the order followed; answers how the crowd stands then. */
  async ask(order: Order): Promise<Headcount> {
    const number = (this.orders += 1);
    const asked = Promise.withResolvers<Headcount>();
    this.waiting.set(number, asked);
    this.child.send({ number, order } satisfies OrderMessage);
    return asked.promise;
  }

  /** Kills the process as `kill -9` does; its connections are closed by the kernel in the same moment. */
  async kill(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const exited = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await exited;
  }
}
