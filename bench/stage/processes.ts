import { execFileSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

/** A process and everything below it. Children that ended are in the CPU time as soon as their parent has waited for them. */
export interface Usage {
  readonly cpuMs: number;
  readonly rssMb: number;
}

/** What a process holds after its garbage is collected, in bytes. */
export interface MemoryAnswer {
  readonly rss: number;
  /** JavaScript's objects and the buffers outside its heap. */
  readonly live: number;
}

interface ProcessStat {
  readonly pid: number;
  readonly parent: number;
  readonly ticks: number;
}

/** CPU and memory of other processes are read from /proc; elsewhere the figures that need them are left out. */
export const canReadProcesses = existsSync('/proc/self/stat');

const TICKS_PER_SECOND = canReadProcesses ? Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' })) : 100;

/** What the tree of processes below `root` has used so far, and holds now. */
export function usageOf(root: number): Usage {
  const members = tree(root);
  const ticks = members.reduce((sum, member) => sum + member.ticks, 0);
  return {
    cpuMs: (ticks * 1000) / TICKS_PER_SECOND,
    rssMb: members.reduce((sum, { pid }) => sum + residentMb(pid), 0),
  };
}

/** CPU time of the whole machine in milliseconds: everything but idling, time stolen by the host included. */
export function machineBusyMs(): number {
  const [first = ''] = readFileSync('/proc/stat', 'utf8').split('\n');
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0, steal = 0] = first.split(/\s+/).slice(1).map(Number);
  return ((user + nice + system + irq + softirq + steal) * 1000) / TICKS_PER_SECOND;
}

/** How many files and connections a process may have open; Infinity where nothing says. */
export function descriptorLimit(): number {
  const limit = /^Max open files +\d+ +(\d+)/m.exec(readIfPresent('/proc/self/limits') ?? '')?.[1]; // Node raises its own to the hard one
  return limit === undefined ? Number.POSITIVE_INFINITY : Number(limit);
}

/** The file of a module beside `file`, which runs from source or compiled. */
export function siblingModule(file: string, name: string): string {
  return path.join(path.dirname(file), `${name}${path.extname(file)}`);
}

/** Options of a Node process that can be asked for its memory. */
export const PROBED: readonly string[] = [
  '--expose-gc',
  '--import',
  pathToFileURL(siblingModule(import.meta.filename, 'memory-probe')).href,
];

/** Has a process that was started with `PROBED` collect its garbage, and asks what it holds then. */
export async function memoryOf(child: ChildProcess): Promise<MemoryAnswer> {
  const answered = once(child, 'message') as Promise<[MemoryAnswer]>;
  child.send('memory');
  const [memory] = await answered;
  return memory;
}

/** The parent of a process, and its name as the kernel has it; undefined when it is gone or on another machine. */
export function parentOf(pid: number): { readonly parent: number; readonly name: string } | undefined {
  const text = readIfPresent(`/proc/${pid}/stat`);
  const stat = text === undefined ? undefined : parse(pid, text);
  return text === undefined || stat === undefined
    ? undefined
    : { parent: stat.parent, name: text.slice(text.indexOf('(') + 1, text.lastIndexOf(')')) };
}

function tree(root: number): readonly ProcessStat[] {
  const children = new Map<number, ProcessStat[]>();
  const all = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => parse(Number(name), readIfPresent(`/proc/${name}/stat`)) ?? []);
  for (const stat of all) children.set(stat.parent, [...(children.get(stat.parent) ?? []), stat]);
  const members = all.filter(({ pid }) => pid === root);
  for (const member of members) members.push(...(children.get(member.pid) ?? []));
  return members;
}

/** The name in parentheses may hold spaces and parentheses itself: what counts starts after the last one. */
function parse(pid: number, text: string | undefined): ProcessStat | undefined {
  if (text === undefined) return undefined;
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0); // own and waited-for children's
  return { pid, parent: Number(fields[1]), ticks };
}

function residentMb(pid: number): number {
  const line = /^VmRSS:\s+(\d+) kB/m.exec(readIfPresent(`/proc/${pid}/status`) ?? '');
  return Number(line?.[1] ?? 0) / 1024;
}

function readIfPresent(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ESRCH') return undefined;
    throw error;
  }
}
