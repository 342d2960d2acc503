import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Inject, Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { Bus } from '../../platform/bus/bus.ts';
import { accountKey } from '../../platform/bus/keys.ts';
import { CONFIG, type Config } from '../../platform/config/config.ts';
import { Database } from '../../platform/db/database.ts';
import { derivedId } from '../../platform/ids/ids.ts';
import { Log, describeError } from '../../platform/log/log.ts';
import type { Actor } from '../../platform/operation/actor.ts';
import { parseParts } from '../../platform/operation/input.ts';
import type { In, OpContext } from '../../platform/operation/operation.ts';
import { OperationRunner } from '../../platform/operation/runner.ts';
import { asSystemWork } from '../../platform/operation/system-work.ts';
import { OutboundFailure } from '../../platform/outbound/outbound.ts';
import { Replica } from '../../platform/replica/replica.ts';
import { RunMoves, acknowledgeCancel, type AdoptedRun, type DialledRun } from '../../runs/index.ts';
import { claimRun } from '../claims/claims.contract.ts';
import { Claims } from '../claims/claims.service.ts';
import { completeRun, failRun } from '../reports/reports.contract.ts';
import { Reports } from '../reports/reports.service.ts';
import { noteCall, workerById, type Called, type DialledWorker } from './direct.store.ts';
import { EndpointClient } from './endpoint.client.ts';
import type { Job, Said } from './message.policy.ts';

const SHARE_OF_ACCOUNT = 4;
/** The database decides when a run's time is over, and we hang up then. */
const FOR_EVER_MS = Number.MAX_SAFE_INTEGER;
/** What a worker answered is not lost to an outage of the database that is over within a minute. */
const KEEP_TRIES = 40;
const KEEP_PAUSE_MS = 1_500;

/** A run that this replica dialled a worker for, and waits for the answer. */
interface Flight {
  readonly run: DialledRun;
  readonly worker: DialledWorker;
  readonly hangUp: AbortController;
  /** The request may have left. */
  wasSent: boolean;
  /** Its answer is being kept: what ends the run now is that. */
  isSettling: boolean;
  /** The run was ended otherwise. */
  isOver: boolean;
}

/**
 * Takes runs to workers that do not come for them (worker-protocol.md A16). The run is the worker's before it is dialled, and
 * begins before anything is sent: so whatever happens to this process, the row says whether the worker may have it. No
 * connection of the database is held while somebody is dialled.
 */
@Injectable()
export class DirectDispatch implements OnModuleInit, OnApplicationShutdown {
  private readonly log = new Log('direct');
  private readonly flights = new Map<string, Flight>();
  private isLeaving = false;

  constructor(
    @Inject(EndpointClient) private readonly endpoints: EndpointClient,
    @Inject(Claims) private readonly claims: Claims,
    @Inject(Reports) private readonly reports: Reports,
    @Inject(RunMoves) private readonly moves: RunMoves,
    @Inject(OperationRunner) private readonly runner: OperationRunner,
    @Inject(Database) private readonly database: Database,
    @Inject(Replica) private readonly replica: Replica,
    @Inject(CONFIG) private readonly config: Config,
    @Inject(Bus) private readonly bus: Bus,
  ) {}

  onModuleInit(): void {
    this.bus.on('run.ended', (key) => this.stop(key));
  }

  /** Leaves its runs as they are: another replica asks their workers once. */
  onApplicationShutdown(): void {
    this.isLeaving = true;
    for (const { hangUp } of this.flights.values()) hangUp.abort();
  }

  /** The runs that this replica waits for. */
  get waitedFor(): readonly DialledRun[] {
    return [...this.flights.values()].map(({ run }) => run);
  }

  /** Takes a run for the worker, if there is one that it may have, and dials. Answers before the worker does. */
  async dial(worker: DialledWorker): Promise<boolean> {
    const { account_id: accountId, worker_id: workerId, endpoint_url: endpointUrl, max_concurrent: slots } = worker;
    if (this.replica.isDraining || !this.hasRoom(accountId)) return false;
    const dial = { replicaId: this.replica.id, endpointUrl, afterSeconds: this.config.directAfterSeconds };
    const job = await this.claims.takeForDial(this.contextOf(worker, randomUUID()), { workerId, slots, dial });
    if (!job) return false;
    const { run_id: runId, attempt } = job;
    this.fly({ accountId, runId, workerId, attempt }, worker, (flight) => this.deliver(flight, job));
    return true;
  }

  /**
   * What another replica had dialled when it ended. Nothing was sent before the run began; after that the worker is asked once, and
   * whatever it does not know is lost.
   */
  async adopt({ account_id: accountId, id: runId, worker_id: workerId, attempt, status }: AdoptedRun): Promise<void> {
    const run = { accountId, runId, workerId, attempt };
    if (status === 'claimed') return this.unsend(run, 'the replica that was dialling has ended');
    const worker = await workerById(this.database, run);
    if (!worker) return this.lose(run, 'its worker gives no address any more');
    this.fly(run, worker, async (flight) => {
      flight.wasSent = true;
      const said = await this.endpoints.ask(worker.endpoint_url, runId);
      const ended = 'the replica that had dialled its worker ended';
      await this.settle(
        flight,
        said.kind === 'unknown' ? { ...said, why: `${ended}, and of the task ${said.why}` } : said,
      );
    });
  }

  /** The run has ended by another word than its worker's, or was lost. */
  stop(key: string): void {
    const flight = this.flights.get(key);
    if (!flight || flight.isSettling || flight.isOver) return;
    flight.isOver = true;
    this.hangUp(flight).catch((error: unknown) => this.warn('a worker was not told to stop', flight.run, error));
  }

  lose(run: DialledRun, why: string): Promise<void> {
    return this.kept(run, () =>
      asSystemWork(this.database, 'end a run whose answer is lost', (ctx) => this.moves.loseDelivery(ctx, run, why)),
    );
  }

  private hasRoom(accountId: string): boolean {
    const { directAtOnce: most } = this.config;
    const own = this.waitedFor.filter((run) => run.accountId === accountId).length;
    return this.flights.size < most && own < Math.max(1, Math.floor(most / SHARE_OF_ACCOUNT));
  }

  private fly(run: DialledRun, worker: DialledWorker, work: (flight: Flight) => Promise<void>): void {
    const key = accountKey(run.accountId, run.runId);
    const hangUp = new AbortController();
    const flight: Flight = { run, worker, hangUp, wasSent: false, isSettling: false, isOver: false };
    this.flights.set(key, flight);
    work(flight)
      .catch((error: unknown) => this.warn('a dialled run is left to the sweep', run, error))
      .finally(() => this.flights.delete(key));
  }

  private async deliver(flight: Flight, job: Job): Promise<void> {
    const { endpoint_url: url } = flight.worker;
    const how = { signal: flight.hangUp.signal, withinMs: FOR_EVER_MS, maySend: () => this.begin(flight) };
    let said: Said;
    try {
      said = await this.endpoints.send(url, job, how);
    } catch (error) {
      if (!(error instanceof OutboundFailure)) throw error;
      return this.fail(flight, error);
    }
    await this.settle(flight, said);
  }

  /** The connection stands. From here on the worker may have the run, whatever becomes of us. */
  private async begin(flight: Flight): Promise<boolean> {
    const { run, worker } = flight;
    const holder = { ...run, agentId: worker.agent_id };
    if (flight.isOver || this.isLeaving) return false;
    const ctx = this.contextOf(worker, randomUUID());
    flight.wasSent = await ctx.briefly((inner) => this.moves.start(inner, holder));
    return flight.wasSent;
  }

  private async fail(flight: Flight, { at, message }: OutboundFailure): Promise<void> {
    const { run, hangUp } = flight;
    if (at === 'withdrawn') return;
    if (at === 'lost') {
      if (flight.isOver || this.isLeaving) return;
      return this.settle(flight, { kind: 'unknown', why: message });
    }
    if (!hangUp.signal.aborted) await this.note(flight, at, message);
    await this.unsend(run, message);
  }

  private async settle(flight: Flight, said: Said): Promise<void> {
    flight.isSettling = !flight.isOver;
    const why = said.kind === 'unknown' ? said.why : null;
    await this.note(flight, why === null ? 'answered' : 'lost', why);
    if (said.kind === 'unknown') return this.lose(flight.run, said.why);
    return this.report(flight, said);
  }

  /** As if the worker had reported it itself: masked, counted, and kept as late where it comes too late. */
  private report({ run, worker }: Flight, { kind, ...said }: Exclude<Said, { kind: 'unknown' }>): Promise<void> {
    const { runId, attempt, workerId } = run;
    const op = kind === 'succeeded' ? completeRun : failRun;
    const parsed = parseParts(op.input, { path: { worker_id: workerId }, body: { run_id: runId, attempt, ...said } });
    if ('problems' in parsed) return this.lose(run, 'its answer cannot be kept');
    const ctx = this.contextOf(worker, derivedId('message', `direct\n${runId}\n${attempt}`), op);
    return this.kept(run, () =>
      ctx.briefly<unknown>((inner) =>
        kind === 'succeeded'
          ? this.reports.complete(inner, parsed.input as In<typeof completeRun>)
          : this.reports.fail(inner, parsed.input as In<typeof failRun>),
      ),
    );
  }

  private unsend(run: DialledRun, why: string): Promise<void> {
    return this.kept(run, () =>
      asSystemWork(this.database, 'take back a run that was not sent', (ctx) => this.moves.unsend(ctx, run, why)),
    );
  }

  private async hangUp({ run, worker, wasSent, hangUp }: Flight): Promise<void> {
    try {
      if (!wasSent || !(await this.endpoints.cancel(worker.endpoint_url, run.runId))) return;
      const ctx = this.contextOf(worker, randomUUID());
      await ctx.briefly((inner) => acknowledgeCancel(inner, run.runId, run.workerId));
    } finally {
      hangUp.abort();
    }
  }

  private async note({ run, worker }: Flight, outcome: Called['outcome'], said: string | null): Promise<void> {
    const called = { ...run, endpointUrl: worker.endpoint_url, outcome, said };
    await noteCall(this.database, called, this.config.directAfterSeconds).catch((error: unknown) =>
      this.warn('what came of a call was not noted', run, error),
    );
  }

  /** Waits out an outage of the database; what cannot be kept then is found by the sweep. */
  private async kept(run: DialledRun, keep: () => Promise<unknown>): Promise<void> {
    for (let left = KEEP_TRIES; ; left -= 1) {
      try {
        await keep();
        return;
      } catch (error) {
        if (left <= 1 || this.isLeaving) throw error;
        if (left === KEEP_TRIES) this.warn('what came of a dialled run is kept at the next try', run, error);
        await sleep(KEEP_PAUSE_MS, undefined, { ref: false });
      }
    }
  }

  private contextOf(
    worker: DialledWorker,
    requestId: string,
    op: Parameters<OperationRunner['inNameOf']>[1] = claimRun,
  ): OpContext {
    return this.runner.inNameOf(actorOf(worker), op, requestId);
  }

  private warn(what: string, { runId, workerId }: DialledRun, error: unknown): void {
    this.log.warn(what, { run_id: runId, worker_id: workerId, error: describeError(error) });
  }
}

function actorOf({ account_id, agent_id, token_id, handle }: DialledWorker): Actor {
  return {
    kind: 'agent',
    id: agent_id,
    accountId: account_id,
    credentialId: token_id,
    scopes: [],
    agentHandle: handle,
  };
}
