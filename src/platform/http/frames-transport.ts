import { Inject, Injectable } from '@nestjs/common';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { Clock } from '../clock/clock.ts';
import type { Deadline } from '../clock/deadline.ts';
import { Fault, InputInvalid } from '../faults/faults.ts';
import { newId } from '../ids/ids.ts';
import { freeObject, problemsOf, type AlteredPlace } from '../json/json.ts';
import type { FrameEnvelope } from '../operation/operation.ts';
import { AuditTrail, Identifier } from '../operation/ports.ts';
import { OperationRegistry } from '../operation/registry.ts';
import { AccessDenied, OperationRunner, type ReadBody } from '../operation/runner.ts';
import type { Actor } from '../operation/actor.ts';
import { evidenceBody } from './body.ts';
import { CalmAnswers } from './calm-answers.ts';
import { faultBody, faultFrom, sendFault } from './faults.ts';
import { presentedBy } from './presented.ts';

/** The name of the endpoint in the served document and in audit rows of strangers. */
export const FRAMES_OPERATION = 'workers.frames';
export const FRAMES_PATH = '/api/v1/workers/:worker_id/frames';

/** The worker protocol's envelope (worker-protocol.md §3). Unknown keys are ignored on receive and never sent. */
const Envelope = z.object({
  id: z.string().min(1).max(200),
  type: z.string().min(1).max(200),
  payload: freeObject(),
  needsReply: z.boolean().nullish(),
  correlationId: z.string().nullish(),
  stream: z.string().nullish(),
  seq: z.int().nonnegative().nullish(),
  end: z.boolean().nullish(),
  headers: freeObject().nullish(),
});
type Envelope = z.output<typeof Envelope>;

interface Answer {
  readonly type: string;
  readonly payload: unknown;
}

/** So much is read also for a caller that nobody knows, to see what it asks for. */
const PEEKED_BYTES = 4_096;

/** A request's frame, read once, when it is first asked for. */
class ReceivedFrame {
  private known: { readonly frame: Envelope; readonly altered: readonly AlteredPlace[] } | undefined;

  constructor(private readonly raw: Buffer | undefined) {}

  get bytes(): number {
    return this.raw?.length ?? 0;
  }

  /** Empty until it was read. */
  get type(): string {
    return this.known?.frame.type ?? '';
  }

  /** @throws Fault 422 for what is no frame. */
  read(): { readonly frame: Envelope; readonly altered: readonly AlteredPlace[] } {
    if (this.known) return this.known;
    const { value, altered } = evidenceBody(this.raw)();
    return (this.known = { frame: parseEnvelope(value), altered });
  }

  /** Reads it where that is possible; what is wrong with it is said once the caller is known. */
  peek(): void {
    try {
      this.read();
    } catch {
      return;
    }
  }
}

/** How workers talk: one endpoint, many types of frame, each an operation that declares `frame` instead of `http`. */
@Injectable()
export class FramesTransport {
  constructor(
    @Inject(OperationRegistry) private readonly registry: OperationRegistry,
    @Inject(OperationRunner) private readonly runner: OperationRunner,
    @Inject(Identifier) private readonly identifier: Identifier,
    @Inject(AuditTrail) private readonly trail: AuditTrail,
    @Inject(CalmAnswers) private readonly calmAnswers: CalmAnswers,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  /** Mounted on Fastify itself: a transport is not a route, so it has no operation and Nest does not see it. */
  mount(fastify: FastifyInstance): void {
    fastify.post(FRAMES_PATH, (request, reply) => this.handle(request, reply));
  }

  private async handle(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const received = new ReceivedFrame(request.rawBody);
    try {
      const answer = await this.answer(request, received);
      const { frame } = received.read();
      if (!answer || !frame.needsReply) return void reply.status(202).send();
      void reply.send({ id: newId('message', this.clock.nowMs()), correlationId: frame.id, ...answer });
    } catch (error) {
      refuse(reply, faultFrom(error), request.id, received.type);
    } finally {
      request.admitted?.release();
    }
  }

  private answer(request: FastifyRequest, received: ReceivedFrame): Promise<Answer | undefined> {
    if (received.bytes <= PEEKED_BYTES) received.peek();
    const { reply, calm } = this.registry.ofFrame(received.type)?.op.frame ?? {};
    if (reply === undefined || calm === undefined) return this.answerKnown(request, received);
    const { worker_id: workerId } = request.params as { readonly worker_id: string };
    const asking = { presented: presentedBy(request), workerId };
    return this.calmAnswers.answer<Answer | undefined>(asking, { type: reply, payload: calm }, (deadline) =>
      this.answerKnown(request, received, deadline),
    );
  }

  /** A large body is parsed only for a known caller. */
  private async answerKnown(
    request: FastifyRequest,
    received: ReceivedFrame,
    deadline?: Deadline,
  ): Promise<Answer | undefined> {
    const actor = await this.identify(request);
    const { frame, altered } = received.read();
    if (!this.registry.ofFrame(frame.type) && actor.kind !== 'agent')
      throw AccessDenied({ message: 'Only a worker token opens this' });
    return this.perform(frame, { altered, deadline }, request);
  }

  private async identify(request: FastifyRequest): Promise<Actor> {
    const presented = presentedBy(request);
    try {
      return await this.identifier.identify(presented);
    } catch (error) {
      if (error instanceof Fault)
        this.trail.recordStranger({
          operation: FRAMES_OPERATION,
          area: 'workers',
          presented,
          fault: error,
          requestId: request.id,
        });
      throw error;
    }
  }

  private async perform(
    frame: Envelope,
    { altered, deadline }: { readonly altered: readonly AlteredPlace[]; readonly deadline: Deadline | undefined },
    request: FastifyRequest,
  ): Promise<Answer | undefined> {
    const registered = this.registry.ofFrame(frame.type);
    if (!registered) return unsupported(frame.type);
    const { op, handle } = registered;
    const payload = await inFrame(
      this.runner.run(op, handle, {
        presented: presentedBy(request),
        input: { path: request.params, headers: request.headers },
        readBody: op.evidence
          ? () => ({ value: frame.payload, altered: inPayload(altered) })
          : unaltered(frame.payload, altered),
        idempotencyKey: undefined,
        requestId: request.id,
        traceparent: request.headers['traceparent']?.toString(),
        frame: envelopeOf(frame),
        headers: new Map(),
        deadline,
      }),
    );
    return op.frame?.reply === undefined ? undefined : { type: op.frame.reply, payload };
  }
}

/** An operation knows its payload only; the sender knows the frame around it. */
async function inFrame<Result>(running: Promise<Result>): Promise<Result> {
  try {
    return await running;
  } catch (error) {
    if (!(error instanceof Fault) || error.type !== InputInvalid) throw error;
    const problems = error.problems.map(({ loc, ...problem }) => ({
      ...problem,
      loc: loc[0] === 'body' ? ['body', 'payload', ...loc.slice(1)] : loc,
    }));
    throw InputInvalid({ message: error.message, problems });
  }
}

function envelopeOf({ id, stream, seq, correlationId }: Envelope): FrameEnvelope {
  return { id, stream: stream ?? undefined, seq: seq ?? undefined, correlationId: correlationId ?? undefined };
}

/** The places inside the payload, as the operation sees it. */
function inPayload(altered: readonly AlteredPlace[]): readonly AlteredPlace[] {
  if (altered.length === 0) return altered;
  return altered.filter(({ path }) => path[0] === 'payload').map(({ path, flaw }) => ({ path: path.slice(1), flaw }));
}

/** Only evidence is altered; everything else must be storable as it was sent. */
function unaltered(value: unknown, altered: readonly AlteredPlace[]): ReadBody {
  return () => {
    if (altered.length > 0) throw InputInvalid({ problems: problemsOf(inPayload(altered)) });
    return { value, altered };
  };
}

function parseEnvelope(value: unknown): Envelope {
  const result = Envelope.safeParse(value);
  if (!result.success) {
    const problems = result.error.issues.map(({ path, message, code }) => ({
      loc: ['body', ...path.map(String)],
      msg: message,
      type: code,
    }));
    throw InputInvalid({ problems });
  }
  if (result.data.needsReply && typeof result.data.correlationId === 'string') {
    throw InputInvalid({
      problems: [
        { loc: ['body', 'correlationId'], msg: 'a frame that is a reply cannot ask for one', type: 'value_error' },
      ],
    });
  }
  return result.data;
}

function unsupported(type: string): Answer {
  return {
    type: 'error',
    payload: { code: 'unsupported_type', message: `There is no frame ${type}`, retryable: false },
  };
}

/** The SDK shows the text of a refused registration, so there, and only there, a 422 is one text (contract.md C4). */
function refuse(reply: FastifyReply, fault: Fault, requestId: string, type: string): void {
  if (type !== 'register' || fault.status !== 422) return sendFault(reply, fault, requestId);
  const detail =
    fault.problems.length > 0
      ? fault.problems.map(({ loc, msg }) => `${loc.join('.')}: ${msg}`).join('; ')
      : fault.message;
  void reply.status(422).send({ ...faultBody(fault, requestId), detail });
}
