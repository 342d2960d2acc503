import { Inject, Injectable } from '@nestjs/common';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { CONFIG, type Config } from '../config/config.ts';
import { Database } from '../db/database.ts';
import { OverloadAccount, OverloadBytes } from '../faults/faults.ts';
import { Identifier } from '../operation/ports.ts';
import { OperationRegistry } from '../operation/registry.ts';
import { FairGate, type Lane, type Leave } from '../overload/fair-gate.ts';
import type { Neighbours } from '../overload/neighbours.ts';
import { FRAMES_PATH } from './frames-transport.ts';
import { presentedBy } from './presented.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** What a large body was let in with. */
    admitted?: Admitted;
  }
}

/** Bodies up to this size come in unasked: claims, signs of life, starts, most invokes. They are many and cheap. */
const SMALL_BYTES = 4 * 1024;
/** What an account may hold of all; the rest is there at once for whoever comes next. */
const PART_OF_ACCOUNT = 0.75;
/** What all those together may hold whose credential was never seen to open anything. */
const PART_OF_STRANGERS = 0.125;
/** As many large bodies are being parsed and stored at once; one process does no more at a time than some, the rest are bytes. */
const TURNS = { capacity: 10, perAccount: 8, ofEvidence: 4 };
/** A frame’s type stands at its beginning. A wrong guess costs a turn in the wrong line, and nothing else. */
const BEGINNING_BYTES = 400;
const WORKERS_A_CALLER = 20;

/** `frames` are held back as long as their senders wait, because a worker sends its events once; the rest is refused sooner. */
type Line = 'call' | 'frames' | 'ingest';

/** Room and turn of one large body, given back when it was dealt with or its connection is over. */
class Admitted {
  readonly account: string;
  private readonly leaves: Leave[] = [];
  private isOver = false;

  constructor(account: string) {
    this.account = account;
  }

  hold(leave: Leave): void {
    if (this.isOver) leave();
    else this.leaves.push(leave);
  }

  readonly release = (): void => {
    this.isOver = true;
    for (const leave of this.leaves.splice(0)) leave();
  };
}

/**
 * Lets large bodies in: their bytes before they are read, their turn before they are parsed, both shared between accounts. What
 * has to wait is not read, so it waits in its sender’s memory.
 */
@Injectable()
export class BodyAdmission {
  private readonly bytes: FairGate<Line>;
  private readonly bytesOfStrangers: FairGate<Line>;
  private readonly turns: FairGate<Line>;

  constructor(
    @Inject(Identifier) private readonly identifier: Identifier,
    @Inject(OperationRegistry) private readonly registry: OperationRegistry,
    @Inject(Database) database: Database,
    @Inject(CONFIG) config: Config,
  ) {
    const { bodiesLimitBytes: all } = config;
    this.bytes = bytesGate(config, all, all * PART_OF_ACCOUNT);
    this.bytesOfStrangers = bytesGate(config, all * PART_OF_STRANGERS, all * PART_OF_STRANGERS);
    this.turns = turnsGate(config, database.neighbours);
  }

  /** `limitOf` says how much of a body is read at most. */
  mount(fastify: FastifyInstance, limitOf: (request: FastifyRequest) => number): void {
    fastify.addHook('preParsing', async (request, reply) => {
      const size = Math.min(bytesOf(request), limitOf(request));
      if (size > SMALL_BYTES) await this.admit(request, reply, size);
    });
    fastify.addHook('preValidation', async (request) => {
      if (request.admitted) await this.takeTurn(request, request.admitted);
    });
  }

  private async admit(request: FastifyRequest, reply: FastifyReply, size: number): Promise<void> {
    const known = this.identifier.accountOf(presentedBy(request));
    const account = known ?? '';
    const lane = this.laneOf(request);
    if (known !== undefined) await this.turns.pass(account, lane); // is refused before anything is read
    const admitted = new Admitted(account);
    reply.raw.once('close', admitted.release);
    const gate = known === undefined ? this.bytesOfStrangers : this.bytes;
    admitted.hold(await gate.enter({ account, lane, size, isGone: isGone(request) }));
    if (known !== undefined) request.admitted = admitted;
  }

  private async takeTurn(request: FastifyRequest, admitted: Admitted): Promise<void> {
    const lane = this.laneOf(request);
    const { account } = admitted;
    admitted.hold(await this.turns.enter({ account, lane, isGone: isGone(request) }));
  }

  private laneOf({ method, routeOptions: { url = '' }, rawBody }: FastifyRequest): Line {
    if (url !== FRAMES_PATH) return this.registry.ofRoute(method, url)?.op.bulk ? 'ingest' : 'call';
    return !rawBody || rawBody.subarray(0, BEGINNING_BYTES).includes('"run_events"') ? 'frames' : 'call';
  }
}

function bytesGate(waits: Config, capacity: number, perAccount: number): FairGate<Line> {
  const lanes = lanesOf(waits, { call: perAccount, evidence: perAccount, rests: false });
  return new FairGate({ capacity, perAccount, lanes, full: OverloadBytes, late: OverloadBytes });
}

function turnsGate(waits: Config, neighbours: Neighbours): FairGate<Line> {
  const { capacity, perAccount, ofEvidence } = TURNS;
  const evidence = (account: string): number => (neighbours.areThere(account) ? 1 : ofEvidence);
  const lanes = lanesOf(waits, { call: perAccount, evidence, rests: true });
  return new FairGate({ capacity, perAccount, lanes, neighbours, full: OverloadAccount, late: OverloadAccount });
}

interface Shares {
  readonly call: number;
  readonly evidence: Lane['most'];
  readonly rests: boolean;
}

function lanesOf(config: Config, { call, evidence, rests }: Shares) {
  const { turnWaitSeconds, eventsWaitSeconds, waitingPerAccount: waiting } = config;
  const waitMs = turnWaitSeconds * 1_000;
  const frames = { waiting: waiting * WORKERS_A_CALLER, waitMs: eventsWaitSeconds * 1_000 };
  return {
    call: { most: call, waiting, waitMs },
    frames: { most: evidence, ...frames, rests },
    ingest: { most: evidence, waiting, waitMs, rests },
  };
}

/** As the sender announces it; without an announcement it may be anything. */
function bytesOf({ headers }: FastifyRequest): number {
  if (headers['transfer-encoding'] !== undefined) return Number.POSITIVE_INFINITY;
  return Number(headers['content-length'] ?? 0);
}

function isGone(request: FastifyRequest): () => boolean {
  return () => request.socket.destroyed;
}
