import os from 'node:os';
import { canReadProcesses, machineBusyMs, usageOf } from './processes.ts';

/** What the figures were measured on. */
export interface Machine {
  readonly cpu: string;
  readonly cores: number;
  readonly node: string;
  readonly postgres: string;
}

/** How quiet it was. */
export interface Conditions {
  /** The load average before this program did anything: later it would only show our own load. */
  readonly load: number;
  readonly cores: number;
  /** Cores used by processes that are not ours while the row ran; null where /proc is missing. */
  readonly otherCores: number | null;
}

/** The machine, with the PostgreSQL that serves both sides. */
export function thisMachine(postgres: string): Machine {
  return {
    cpu: os.cpus()[0]?.model.trim() ?? 'unknown',
    cores: os.availableParallelism(),
    node: process.version,
    postgres,
  };
}

/** Watches for work that is not ours. */
export class NoiseWatch {
  private readonly load = os.loadavg()[0] ?? 0;
  private readonly ownRoots: readonly number[];

  /** `ownRoots`: processes that are ours with all below them. */
  constructor(ownRoots: readonly number[]) {
    this.ownRoots = ownRoots;
  }

  /** Runs `work` and says under which conditions it ran. */
  async during<T>(work: () => Promise<T>): Promise<{ readonly value: T; readonly conditions: Conditions }> {
    const start = this.reading();
    const value = await work();
    const end = this.reading();
    const otherCores = start && end ? Math.max(0, (end.otherMs - start.otherMs) / (end.at - start.at)) : null;
    return { value, conditions: { load: this.load, cores: os.availableParallelism(), otherCores } };
  }

  private reading(): { readonly at: number; readonly otherMs: number } | undefined {
    if (!canReadProcesses) return undefined;
    const own = this.ownRoots.reduce((sum, root) => sum + usageOf(root).cpuMs, 0);
    return { at: performance.now(), otherMs: machineBusyMs() - own };
  }
}
