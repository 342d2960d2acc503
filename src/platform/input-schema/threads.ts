import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import type { InputProblem } from '../json/problems.ts';
import type { ThreadReply, ThreadRequest } from './worker.ts';

/** `unusable`: the schema; `overdue` and `lost`: the thread had to be ended, or died, in the middle of the step. */
export type ThreadAnswer =
  | { readonly kind: 'compiled' }
  | { readonly kind: 'unusable'; readonly error: string }
  | { readonly kind: 'checked'; readonly problems: readonly InputProblem[] }
  | { readonly kind: 'overdue' | 'lost'; readonly step: 'compile' | 'check' };

export interface ThreadLimits {
  readonly threads: number;
  readonly checkMs: number;
  /** How long a check may wait for its turn. */
  readonly waitMs: number;
}

/** Too many checks are waiting: nothing is known about the input, and the caller may try again. */
export class InputChecksBusy extends Error {
  constructor() {
    super('Too many input checks are waiting');
    this.name = 'InputChecksBusy';
  }
}

interface Waiting {
  readonly begin: (slot: Slot) => void;
  readonly giveUp: (reason: Error) => void;
}

interface Thread {
  readonly worker: Worker;
  readonly ready: Promise<void>;
}

/** A place for a thread; empty until one is needed. */
interface Slot {
  thread: Thread | undefined;
  isBusy: boolean;
}

/** The sibling file, under the extension of this one: nothing rewrites it when the build turns .ts into .js. */
const HERE = fileURLToPath(import.meta.url);
const WORKER_FILE = path.join(path.dirname(HERE), `worker${path.extname(HERE)}`);

const CLOSED = 'Input checks are closed';

/** 256 KiB of ordinary schema compile in one second where nothing else runs; four times that is allowed. */
const COMPILE_MS = 2_000;
const COMPILE_MS_PER_CHARACTER = 0.02;
/** What an input of 8 MiB may take to be parsed, which depends on nothing but its size. */
const PARSE_MS = 5_000;
/** Schemas from this size on wait for each other, so that compiling never holds all threads. */
const LARGE_SCHEMA = 32 * 1024;

/** An input of 8 MiB may take 200 MB as objects. */
const RESOURCES = { maxOldGenerationSizeMb: 384, stackSizeMb: 4 };

/**
 * A few threads for work that may have to be ended. Schemas take turns, and none has more than one thread: one that
 * always runs into its limit delays its own agent's runs, and others by one limit at most.
 */
export class InputCheckThreads {
  private readonly limits: ThreadLimits;
  private readonly slots: Slot[];
  /** By schema; the Map's order is whose turn it is. */
  private readonly waiting = new Map<string, Waiting[]>();
  private readonly running = new Set<string>();
  private isClosed = false;

  constructor(limits: ThreadLimits) {
    this.limits = limits;
    this.slots = Array.from({ length: limits.threads }, () => ({ thread: undefined, isBusy: false }));
  }

  async run(request: ThreadRequest): Promise<ThreadAnswer> {
    const turnKey = turnKeyOf(request);
    const slot = await this.turnOf(turnKey);
    try {
      return await this.runIn(slot, request);
    } finally {
      slot.isBusy = false;
      this.running.delete(turnKey);
      this.next();
    }
  }

  async close(): Promise<void> {
    this.isClosed = true;
    for (const queue of this.waiting.values()) for (const { giveUp } of queue) giveUp(new Error(CLOSED));
    await Promise.all(this.slots.map((slot) => end(slot)));
  }

  private turnOf(key: string): Promise<Slot> {
    if (this.isClosed) throw new Error(CLOSED);
    return new Promise((resolve, reject) => {
      const waiting: Waiting = {
        begin: (slot) => {
          clearTimeout(timer);
          resolve(slot);
        },
        giveUp: (reason) => {
          clearTimeout(timer);
          this.forget(key, waiting);
          reject(reason);
        },
      };
      const timer = setTimeout(() => waiting.giveUp(new InputChecksBusy()), this.limits.waitMs);
      this.waiting.set(key, [...(this.waiting.get(key) ?? []), waiting]);
      this.next();
    });
  }

  /** Gives free threads to the schemas whose turn it is. */
  private next(): void {
    for (const [key, queue] of this.waiting) {
      const free = this.slots.filter(({ isBusy }) => !isBusy);
      const slot = free.find(({ thread }) => thread !== undefined) ?? free[0];
      if (!slot) return;
      if (this.running.has(key)) continue;
      this.waiting.delete(key);
      const first = queue.shift();
      if (queue.length > 0) this.waiting.set(key, queue);
      if (!first) continue;
      slot.isBusy = true;
      this.running.add(key);
      first.begin(slot);
    }
  }

  private forget(key: string, waiting: Waiting): void {
    const rest = this.waiting.get(key)?.filter((one) => one !== waiting) ?? [];
    if (rest.length > 0) this.waiting.set(key, rest);
    else this.waiting.delete(key);
  }

  private async runIn(slot: Slot, request: ThreadRequest): Promise<ThreadAnswer> {
    if (this.isClosed) throw new Error(CLOSED);
    const thread = slot.thread ?? start(slot);
    thread.worker.ref();
    await thread.ready;
    const answer = await converse(thread.worker, request, this.limits.checkMs);
    thread.worker.unref(); // an idle thread keeps no process alive
    if (answer.kind === 'overdue' || answer.kind === 'lost') {
      if (this.isClosed) throw new Error(CLOSED);
      void end(slot);
      start(slot).worker.unref(); // the next one shall not wait for it
    }
    return answer;
  }
}

function turnKeyOf({ key, schemaText }: ThreadRequest): string {
  return schemaText.length < LARGE_SCHEMA ? key : 'large';
}

function start(slot: Slot): Thread {
  const worker = new Worker(WORKER_FILE, { resourceLimits: RESOURCES, env: {} });
  const ready = new Promise<void>((resolve, reject) => {
    worker.once('message', () => resolve()); // 'ready'
    worker.on('error', reject); // stays: an error that nobody hears would end the process
    worker.once('exit', () => reject(new Error('The input check thread did not start')));
  });
  const thread = { worker, ready };
  const forget = () => {
    if (slot.thread === thread) slot.thread = undefined;
  };
  worker.once('exit', forget);
  ready.catch(forget);
  slot.thread = thread;
  return thread;
}

async function end(slot: Slot): Promise<void> {
  const thread = slot.thread;
  slot.thread = undefined;
  await thread?.worker.terminate();
}

/** Sends a request and waits for the answer, but for no step longer than its limit. */
function converse(worker: Worker, request: ThreadRequest, checkMs: number): Promise<ThreadAnswer> {
  return new Promise((resolve) => {
    let step: 'compile' | 'check' = 'compile';
    let timer = setTimeout(expire, COMPILE_MS + request.schemaText.length * COMPILE_MS_PER_CHARACTER);
    const proceed = (next: 'check', limit: number) => {
      clearTimeout(timer);
      step = next;
      timer = setTimeout(expire, limit);
    };
    const finish = (answer: ThreadAnswer) => {
      clearTimeout(timer);
      worker.off('message', onReply).off('exit', onLoss);
      resolve(answer);
    };
    const onLoss = () => finish({ kind: 'lost', step });
    const onReply = (reply: ThreadReply) => {
      if (reply.kind === 'checked') finish(reply);
      else if (reply.kind === 'parsed') proceed('check', checkMs);
      else if (reply.kind === 'compiled' && reply.error !== null) finish({ kind: 'unusable', error: reply.error });
      else if (request.inputText === undefined) finish({ kind: 'compiled' });
      else proceed('check', PARSE_MS);
    };
    /** If it was this process that was late, the answer is already here and is heard before the immediate. */
    function expire(): void {
      setImmediate(() => finish({ kind: 'overdue', step }));
    }
    worker.on('message', onReply).on('exit', onLoss);
    worker.postMessage(request);
  });
}
