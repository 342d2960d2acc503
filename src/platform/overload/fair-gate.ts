import { setTimeout as sleep } from 'node:timers/promises';
import type { FaultType } from '../faults/faults.ts';
import { Neighbours } from './neighbours.ts';

/** One kind of work before a gate. */
export interface Lane {
  /** How much of the room one account may fill with this kind of work. */
  readonly most: number | ((account: string) => number);
  /** How many callers of one account may wait. */
  readonly waiting: number;
  /** How long one may wait. */
  readonly waitMs: number;
  /**
   * Whether what was given back rests first while others of the account wait in the line and other accounts have urgent work under
   * way: until that is done, and at most a few times as long as it was in use. A flood so takes what its neighbours leave, and a
   * fifth of its line in any case.
   */
  readonly rests?: boolean;
  /** Whether other accounts' lines rest for this kind of work. */
  readonly isUrgent?: boolean;
}

/** What there is to share. Where an account has several kinds of work waiting, the earlier lane wins a tie. */
export interface Room<Name extends string> {
  readonly capacity: number;
  /** What one account may fill, also while it is alone: the rest is there at once for whoever comes next. */
  readonly perAccount: number;
  readonly lanes: Readonly<Record<Name, Lane>>;
  /** For a caller who finds too many waiting. */
  readonly full: FaultType;
  /** For a caller who has waited too long. */
  readonly late: FaultType;
  /** Who else is there. Gates before the same machine share it. */
  readonly neighbours?: Neighbours;
  /** After how long, about, a caller who finds too many waiting is told: who heeds no Retry-After would otherwise ask all the time. */
  readonly refusalMs?: number;
}

/** Who wants in. */
export interface Entrant<Name extends string> {
  readonly account: string;
  readonly lane: Name;
  /** How much of the room it fills; 1 unless said. What is larger than the lane's part counts as all of that part. */
  readonly size?: number;
  /** Whether the caller has hung up. Asked when its turn comes: nobody waits for the answer any more. */
  readonly isGone?: (() => boolean) | undefined;
}

/** Gives back what was entered with; a second call does nothing. */
export type Leave = () => void;

interface Waiter {
  readonly size: number;
  readonly sinceMs: number;
  readonly timer: NodeJS.Timeout;
  readonly isGone: (() => boolean) | undefined;
  readonly resolve: (leave: Leave) => void;
  readonly reject: (fault: Error) => void;
}

interface Line extends Lane {
  readonly most: (account: string) => number;
  inside: number;
  readonly queue: Waiter[];
}

/** What one account has inside and before the gate. */
interface Flow {
  readonly account: string;
  readonly lines: readonly Line[];
  inside: number;
  waiting: number;
}

const LONGEST_RETRY_SECONDS = 30;
const REFUSAL_MS = 500;
/** So many may wait for their refusal at once; others are told at once. */
const REFUSALS = 2_000;
/** So many times as long as it was in use something rests at most. */
const LONGEST_REST = 4;
/** While it rests it is looked again so often. */
const LOOK_MS = 2;

/**
 * Shares something scarce between accounts. While there is room, whoever comes goes in. When there is not, the next to go in
 * is of the account that has least inside, and of its kind of work that has least inside: so a flood of one account, or of one
 * kind of work, waits for itself, and one caller of another account is next whenever anything is given back.
 */
export class FairGate<Name extends string> {
  private readonly room: Room<Name>;
  private readonly names: readonly string[];
  private readonly lanes: readonly (Lane & { readonly most: (account: string) => number })[];
  private readonly nowMs: () => number;
  private readonly neighbours: Neighbours;
  /** In the order in which they were last served. */
  private readonly flows = new Map<string, Flow>();
  private inside = 0;
  private waiting = 0;
  private refusals = 0;

  constructor(room: Room<Name>, nowMs: () => number = () => performance.now()) {
    this.room = room;
    this.names = Object.keys(room.lanes);
    this.lanes = Object.values<Lane>(room.lanes).map(({ most, ...lane }) => ({
      ...lane,
      most: typeof most === 'number' ? () => most : most,
    }));
    this.nowMs = nowMs;
    this.neighbours = room.neighbours ?? new Neighbours(nowMs);
  }

  /**
   * Goes in, at once where that is possible.
   * @throws Fault `full` or `late`, with the time after which another try makes sense.
   */
  enter(entrant: Entrant<Name>): Leave | Promise<Leave> {
    const flow = this.flowOf(entrant.account);
    const line = this.lineOf(flow, entrant.lane);
    const size = Math.min(entrant.size ?? 1, line.most(flow.account));
    if (this.waiting === 0 && this.mayEnter(flow, line, size) && this.hasRoom(size)) return this.let(flow, line, size);
    if (line.queue.length >= line.waiting) return this.turnAway(line);
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => this.giveUp(flow, line, waiter), line.waitMs).unref();
      const waiter = { size, sinceMs: this.nowMs(), timer, isGone: entrant.isGone, resolve, reject };
      line.queue.push(waiter);
      flow.waiting += 1;
      this.waiting += 1;
      this.admit();
    });
  }

  /** Only asks whether `enter` would turn the account away now, so that it can be said before anything is read. */
  async pass(account: string, lane: Name): Promise<void> {
    const flow = this.flows.get(account);
    if (!flow) return;
    const line = this.lineOf(flow, lane);
    if (line.queue.length >= line.waiting) await this.turnAway(line);
  }

  private async turnAway(line: Line): Promise<never> {
    const fault = this.refusal(this.room.full, line);
    if (this.refusals < REFUSALS) {
      this.refusals += 1;
      await sleep((this.room.refusalMs ?? REFUSAL_MS) * (0.5 + Math.random())); // or all of them come again at once
      this.refusals -= 1;
    }
    throw fault;
  }

  private flowOf(account: string): Flow {
    const known = this.flows.get(account);
    if (known) return known;
    const lines = this.lanes.map((lane) => ({ ...lane, inside: 0, queue: [] }));
    const flow = { account, lines, inside: 0, waiting: 0 };
    this.flows.set(account, flow);
    return flow;
  }

  private lineOf({ lines }: Flow, lane: Name): Line {
    const line = lines[this.names.indexOf(lane)];
    if (!line) throw new Error(`This gate has no lane ${lane}`);
    return line;
  }

  private mayEnter(flow: Flow, line: Line, size: number): boolean {
    const { perAccount } = this.room;
    return line.inside + size <= line.most(flow.account) && (flow.inside + size <= perAccount || flow.inside === 0);
  }

  private hasRoom(size: number): boolean {
    return this.inside + size <= this.room.capacity || this.inside === 0;
  }

  private let(flow: Flow, line: Line, size: number): Leave {
    this.add(flow, line, size);
    if (line.isUrgent === true) this.neighbours.came(flow.account);
    const sinceMs = this.nowMs();
    let isInside = true;
    return () => {
      if (!isInside) return;
      isInside = false;
      if (line.isUrgent === true) this.neighbours.left(flow.account);
      const nowMs = this.nowMs();
      this.rest(flow, line, size, nowMs + LONGEST_REST * (nowMs - sinceMs));
    };
  }

  private rest(flow: Flow, line: Line, size: number, untilMs: number): void {
    if (this.hasToRest(flow, line) && this.nowMs() < untilMs)
      setTimeout(() => this.rest(flow, line, size, untilMs), LOOK_MS).unref();
    else this.end(flow, line, size);
  }

  private hasToRest(flow: Flow, line: Line): boolean {
    return line.rests === true && line.queue.length > 0 && this.neighbours.areBusy(flow.account);
  }

  private end(flow: Flow, line: Line, size: number): void {
    this.add(flow, line, -size);
    if (this.waiting > 0) this.admit();
    this.forget(flow);
  }

  private add(flow: Flow, line: Line, size: number): void {
    line.inside += size;
    flow.inside += size;
    this.inside += size;
  }

  /** Lets in as many as there is room for. What does not fit yet is waited for, or small ones would keep it out for ever. */
  private admit(): void {
    while (this.waiting > 0) {
      const next = this.next();
      const waiter = next?.line.queue[0];
      if (!next || !waiter || !this.hasRoom(waiter.size)) return;
      const { flow, line } = next;
      this.remove(flow, line, waiter);
      this.flows.delete(flow.account);
      this.flows.set(flow.account, flow); // served last
      if (waiter.isGone?.() === true) waiter.reject(this.refusal(this.room.late, line));
      else waiter.resolve(this.let(flow, line, waiter.size));
      this.forget(flow);
    }
  }

  private next(): { readonly flow: Flow; readonly line: Line } | undefined {
    let found: { readonly flow: Flow; readonly line: Line } | undefined;
    for (const flow of this.flows.values()) {
      if (flow.waiting === 0 || (found && flow.inside >= found.flow.inside)) continue;
      const line = this.nextLine(flow);
      if (line) found = { flow, line };
    }
    return found;
  }

  private nextLine(flow: Flow): Line | undefined {
    let found: Line | undefined;
    for (const line of flow.lines) {
      const [waiter] = line.queue;
      if (waiter && this.mayEnter(flow, line, waiter.size) && (!found || line.inside < found.inside)) found = line;
    }
    return found;
  }

  private giveUp(flow: Flow, line: Line, waiter: Waiter): void {
    const fault = this.refusal(this.room.late, line);
    this.remove(flow, line, waiter);
    waiter.reject(fault);
    this.admit(); // it may have been what the others waited behind
    this.forget(flow);
  }

  private remove(flow: Flow, line: Line, waiter: Waiter): void {
    clearTimeout(waiter.timer);
    line.queue.splice(line.queue.indexOf(waiter), 1);
    flow.waiting -= 1;
    this.waiting -= 1;
  }

  private forget(flow: Flow): void {
    if (flow.inside === 0 && flow.waiting === 0) this.flows.delete(flow.account);
  }

  /** Who is first in line has waited as long as the next one will. */
  private refusal(type: FaultType, { queue: [first] }: Line): Error {
    const waitedSeconds = first ? (this.nowMs() - first.sinceMs) / 1_000 : 0;
    return type({ retryAfterSeconds: Math.min(Math.max(1, Math.ceil(waitedSeconds)), LONGEST_RETRY_SECONDS) });
  }
}
