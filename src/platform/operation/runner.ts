import { Inject, Injectable } from '@nestjs/common';
import { Bus } from '../bus/bus.ts';
import { Clock } from '../clock/clock.ts';
import type { Deadline } from '../clock/deadline.ts';
import { isConflict, isOutage, isTimeout, isUnstorableText } from '../db/database-errors.ts';
import { Database } from '../db/database.ts';
import { OutcomeUnknown } from '../db/transaction.ts';
import {
  DatabaseBusy,
  DatabaseUnavailable,
  Fault,
  InputInvalid,
  InternalFault,
  OutcomeUnclear,
  OverloadAccount,
  fault,
  type FaultType,
} from '../faults/faults.ts';
import type { AlteredPlace } from '../json/json.ts';
import { LiveStream } from '../http/live-stream.ts';
import { Log, describeError } from '../log/log.ts';
import { outlastsActing } from './acting.ts';
import { ANONYMOUS, type Actor } from './actor.ts';
import { Attempt, type Circumstances } from './attempt.ts';
import {
  answerRow,
  answeredBefore,
  checkIdempotencyKey,
  fingerprintOf,
  nameOfRepeats,
  type RepeatableDeed,
} from './idempotency.ts';
import { parseParts, type OperationInput, type RawInput } from './input.ts';
import { Later } from './later.ts';
import { ListWriter, LongList } from './long-list.ts';
import {
  areaOf,
  errandOf,
  isRead,
  type Cookie,
  type FrameEnvelope,
  type Handler,
  type OpContext,
  type Operation,
} from './operation.ts';
import { schemaOf } from './output.ts';
import { Turns } from './turns.ts';
import { AuditTrail, Decider, Identifier, type Deed, type Presented } from './ports.ts';

export const AccessDenied = fault('access.denied', 'refused', 'Not allowed');

/** The body as its transport could read it: parsed once the caller is known. */
export type ReadBody = () => { readonly value: unknown; readonly altered: readonly AlteredPlace[] };

/** One call, whatever protocol it came in by. */
export interface Call {
  readonly presented: Presented;
  /** Path, query and headers; the body comes from `readBody`. */
  readonly input: Omit<RawInput, 'body'>;
  /** @throws Fault 422 when the body cannot be read. */
  readonly readBody: ReadBody;
  readonly idempotencyKey: string | undefined;
  readonly requestId: string;
  readonly traceparent: string | undefined;
  readonly frame?: FrameEnvelope | undefined;
  /** Filled by the operation: headers of the answer. */
  readonly headers: Map<string, string>;
  /** Filled by the operation: cookies of the answer. */
  readonly cookies?: Cookie[];
  /** Called when the deed is done, before what comes later, which may take minutes. */
  readonly handled?: (() => void) | undefined;
  /** When the caller is answered without the operation; absent, it waits. */
  readonly deadline?: Deadline | undefined;
  /** Whether the caller has hung up: what has not begun by then need not begin. */
  readonly isGone?: () => boolean;
}

/** A call whose caller is known and whose input is read. */
interface ReadyDeed extends RepeatableDeed {
  readonly input: OperationInput;
  readonly handle: Handler;
  readonly call: Circumstances;
  readonly isGone: (() => boolean) | undefined;
}

const ATTEMPTS = 3;
/** The runner itself may raise these; an operation need not declare them. */
const OWN = /^(auth|access|account|input|idempotency|database|outcome|overload|server)\./;

/** Turns declarations into behaviour. Every protocol calls `run`; none decides anything itself. */
@Injectable()
export class OperationRunner {
  private readonly log = new Log('operation');
  private readonly turns = new Turns();

  constructor(
    @Inject(Identifier) private readonly identifier: Identifier,
    @Inject(Decider) private readonly decider: Decider,
    @Inject(AuditTrail) private readonly trail: AuditTrail,
    @Inject(Database) private readonly database: Database,
    @Inject(Bus) private readonly bus: Bus,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  /** @throws Fault, and nothing else. */
  async run(op: Operation, handle: Handler, call: Call): Promise<unknown> {
    try {
      const actor = await this.identify(op, call);
      const deed = await this.read(op, handle, actor, call);
      const result = await (op.transaction === 'none' ? this.answerHot(deed) : this.perform(deed));
      call.handled?.();
      return await this.finish(op, result);
    } catch (error) {
      throw this.asFault(error, op, call.requestId);
    }
  }

  /**
   * For what this process does in a worker's name without having been asked (it was dialled, and answered): the context of an
   * operation that opens its own transactions. Nobody calls, so nothing is identified, read or decided.
   */
  inNameOf(actor: Actor, op: Operation, requestId: string): OpContext {
    const deed: Deed = { op, actor, requestId, address: '', input: undefined };
    const now = this.clock.now();
    const call = {
      deed,
      now,
      traceparent: undefined,
      frame: undefined,
      altered: [],
      headers: new Map(),
      cookies: [],
      presented: { bearer: undefined, address: '' },
      deadline: undefined,
    };
    return new Attempt(call, this.database, this.trail);
  }

  private async identify(op: Operation, { presented, requestId }: Call): Promise<Actor> {
    if (typeof op.capability === 'object' && 'anyoneBecause' in op.capability) return ANONYMOUS;
    try {
      return await this.identifier.identify(presented);
    } catch (error) {
      if (error instanceof Fault && !isRead(op)) {
        this.trail.recordStranger({ operation: op.id, area: areaOf(op), presented, fault: error, requestId });
      }
      throw error;
    }
  }

  private async read(op: Operation, handle: Handler, actor: Actor, call: Call): Promise<ReadyDeed> {
    const { requestId, presented, traceparent, frame, headers, cookies = [], idempotencyKey, deadline } = call;
    const unread: Deed = { op, actor, requestId, address: presented.address, input: undefined };
    const refuse = async (error: unknown): Promise<never> => {
      await this.record(unread, error, 'refused');
      throw error;
    };
    if (!this.mayCall(op, actor)) await refuse(AccessDenied({ message: whoMayCall(op, actor) }));
    try {
      checkIdempotencyKey(op.idempotent ? idempotencyKey : undefined);
      const { value, altered } = call.readBody();
      const parsed = parseParts(op.input, { ...call.input, body: value });
      if ('problems' in parsed) throw InputInvalid({ problems: parsed.problems });
      const deed: Deed = { ...unread, input: parsed.input };
      const now = this.clock.now();
      const circumstances = { deed, now, presented, traceparent, frame, altered, headers, cookies, deadline };
      const fingerprint = (): Buffer => fingerprintOf([call.input.path, value]);
      const { isGone } = call;
      return { ...deed, input: parsed.input, handle, call: circumstances, isGone, idempotencyKey, fingerprint };
    } catch (error) {
      return refuse(error);
    }
  }

  private mayCall(op: Operation, actor: Actor): boolean {
    if (typeof op.capability === 'object' && 'onlyWorkers' in op.capability) return actor.kind === 'agent';
    if (actor.impersonator && outlastsActing(op)) return false;
    if (op.sessionsOnly && actor.isSession !== true) return false;
    if (op.systemAdminsOnly) return actor.isSystemAdmin === true;
    return !(op.operatorsOnly && actor.kind === 'agent');
  }

  private async answerHot(deed: ReadyDeed): Promise<unknown> {
    await this.authorize(deed);
    const attempt = new Attempt(deed.call, this.database, this.trail);
    return deed.handle(attempt, deed.input);
  }

  private async perform(deed: ReadyDeed): Promise<unknown> {
    try {
      await this.authorize(deed);
    } catch (error) {
      await this.record(deed, error, 'refused');
      throw error;
    }
    return this.inTurn(deed);
  }

  /** Equal calls wait for the first outside the database: fifty of them must not hold fifty connections (F-50). */
  private inTurn(deed: ReadyDeed): Promise<unknown> {
    const name = nameOfRepeats(deed);
    return name === undefined ? this.untilKept(deed) : this.turns.take(name, () => this.untilKept(deed));
  }

  private async untilKept(deed: ReadyDeed): Promise<unknown> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.attemptOnce(deed);
      } catch (error) {
        if (attempt < ATTEMPTS && isConflict(error)) continue;
        if (attempt === 1 && mayBeAnsweredMeanwhile(deed, error)) continue;
        await this.record(deed, error, 'failed');
        throw error;
      }
    }
  }

  /** The deed, its audit row and its facts: all of them or none. Pokes only once it is certain. */
  private async attemptOnce(deed: ReadyDeed): Promise<unknown> {
    const attempt = new Attempt(deed.call, this.database, this.trail);
    const result = await this.inTransaction(deed, attempt);
    attempt.poke();
    if (attempt.hasFacts) this.bus.poke('outbox.filled', deed.actor.accountId);
    return result;
  }

  private async inTransaction(deed: ReadyDeed, attempt: Attempt): Promise<unknown> {
    const { op, actor, handle, input, isGone } = deed;
    const mode = isRead(op) && !op.audit ? 'read' : 'write';
    const transaction = op.acrossAccounts
      ? await this.database.beginSystem(op.id, mode)
      : await this.database.begin(actor.accountId, mode, errandOf(op, actor), { isGone });
    try {
      const { result, last } = await transaction.around(async () => {
        const earlier = await answeredBefore(transaction, deed);
        if (earlier && !earlier.deferred) return { result: earlier.answer, last: [] };
        if (earlier) attempt.repeated = earlier.answer;
        const returned = await handle(attempt, input);
        const isLater = returned instanceof Later;
        const result = isLater ? returned : await letOut(op, returned); // before the commit: a wrong answer undoes the deed
        if (earlier) return { result, last: [] };
        const audit = this.trail.row(deed, 'done', attempt.noted);
        const answer = answerRow(deed, isLater ? returned.memo : result, isLater);
        return { result, last: [...(audit ? [audit] : []), ...attempt.evidence(), ...answer] };
      });
      await transaction.commit(last);
      return result;
    } catch (error) {
      if (transaction.isOpen) await transaction.rollback();
      throw error;
    }
  }

  /** What is answered only after the commit goes through the same schema. The deed stands: it is neither repeated nor on record as failed. */
  private async finish(op: Operation, result: unknown): Promise<unknown> {
    if (!(result instanceof Later)) return result;
    try {
      return project(op, await result.finish());
    } catch (error) {
      throw isOutage(error) && !isRead(op) ? OutcomeUnclear({ cause: error }) : error; // "nothing was changed" would be untrue
    }
  }

  private async authorize({ op, actor, input }: ReadyDeed): Promise<void> {
    if (typeof op.capability !== 'string') return;
    const decision = await this.decider.decide(actor, op.capability, op.scope?.(input) ?? {});
    if (decision === 'allow') return;
    const missing = op.faults.find(({ kind }) => kind === 'not_found');
    if (decision === 'hide' && missing) throw missing();
    throw AccessDenied({ message: `This needs the capability ${op.capability}` });
  }

  /** What was refused or failed is evidence too. */
  private async record(deed: Deed, error: unknown, outcome: 'refused' | 'failed'): Promise<void> {
    const { code, problems, type } = this.toFault(error, deed.op);
    if (code === OverloadAccount.code) return; // it would add to the load, and nothing happened
    if (type.kind === 'unavailable' && code !== OutcomeUnclear.code) return; // there is nowhere to write it, and nothing happened
    const at = problems.length > 0 ? { at: problems.map(({ loc }) => loc.join('.')) } : {};
    await this.trail.record(deed, code === OutcomeUnclear.code ? 'unknown' : outcome, { code, ...at });
  }

  private asFault(error: unknown, op: Operation, requestId: string): Fault {
    const faulty = this.toFault(error, op);
    const fields = { operation: op.id, area: areaOf(op), request_id: requestId, code: faulty.code };
    if (faulty.type === InternalFault)
      this.log.error('an operation failed', { ...fields, error: describeError(error) });
    else if (faulty.status >= 500)
      this.log.warn('an operation could not be done', { ...fields, error: describeError(error) });
    else this.log.debug('an operation was refused', { ...fields, internal: faulty.internal });
    return faulty;
  }

  /** Turns anything thrown into a fault the operation declared, or into one of the runner's. */
  private toFault(error: unknown, op: Operation): Fault {
    if (error instanceof Fault && (isDeclared(error.type, op) || OWN.test(error.code))) return error;
    if (error instanceof OutcomeUnknown) return OutcomeUnclear({ cause: error });
    if (isTimeout(error)) return DatabaseBusy({ cause: error });
    if (isOutage(error)) return DatabaseUnavailable({ cause: error });
    if (isUnstorableText(error)) {
      const problem = { loc: ['body'], msg: 'Text must not contain NUL or broken characters', type: 'text_nul' };
      return InputInvalid({ problems: [problem], cause: error });
    }
    return InternalFault({ cause: error });
  }
}

function isDeclared(type: FaultType, op: Operation): boolean {
  return op.faults.some(({ code }) => code === type.code);
}

/** The deed of an equal call, running at the same time, may be why the service said no. */
function mayBeAnsweredMeanwhile({ op, idempotencyKey }: ReadyDeed, error: unknown): boolean {
  return (
    op.idempotent === true &&
    idempotencyKey !== undefined &&
    error instanceof Fault &&
    [409, 429].includes(error.status)
  );
}

async function letOut(op: Operation, result: unknown): Promise<unknown> {
  if (!(result instanceof LongList) || !('item' in op.output)) return project(op, result);
  const writer = new ListWriter(op.output.item);
  await result.giveTo((item) => writer.add(item));
  return writer.end();
}

/** Lets out what the declared output names, and nothing else. */
function project({ output }: Operation, result: unknown): unknown {
  const schema = schemaOf(output);
  if (!schema || result instanceof LiveStream) return result;
  return schema.parse(result);
}

function whoMayCall(op: Operation, actor: Actor): string {
  if (actor.impersonator && outlastsActing(op)) return 'Nobody does this while acting as somebody else';
  if (op.sessionsOnly) return 'Only the session of a browser opens this';
  if (op.systemAdminsOnly) {
    const what = typeof op.capability === 'string' ? `has the capability ${op.capability}` : 'may do this';
    return `Only who looks after the installation ${what}`;
  }
  return typeof op.capability === 'object' && 'onlyWorkers' in op.capability
    ? 'Only a worker token opens this'
    : 'A worker token does not open this';
}
