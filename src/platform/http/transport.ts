import { Readable } from 'node:stream';
import { Inject, Injectable } from '@nestjs/common';
import type { BeforeApplicationShutdown, CallHandler, ExecutionContext, NestInterceptor } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { from, type Observable } from 'rxjs';
import { CONFIG, type Config } from '../config/config.ts';
import { wireTime, Clock } from '../clock/clock.ts';
import { RangeNotSatisfiable } from '../faults/faults.ts';
import { OPERATION } from '../operation/handles.ts';
import { WrittenList } from '../operation/long-list.ts';
import type { Cookie, Operation } from '../operation/operation.ts';
import { isSchema } from '../operation/output.ts';
import { OperationRegistry } from '../operation/registry.ts';
import { OperationRunner, type Call } from '../operation/runner.ts';
import { evidenceBody, strictBody } from './body.ts';
import { FileAnswer, rangeOf } from './file-answer.ts';
import { EventSink, LiveStream } from './live-stream.ts';
import { packedJson, takesGzip } from './packed.ts';
import { presentedBy } from './presented.ts';
import { Redirect } from './redirect.ts';

/** How long a reader may take to read its goodbye: a reset connection would swallow it. Those who do not read hold up nobody for longer. */
const GOODBYE_MS = 1_500;
const LOOK_MS = 25;

/** Answers every route through the runner. The controller method is called by the runner, never by Nest. */
@Injectable()
export class HttpTransport implements NestInterceptor, BeforeApplicationShutdown {
  /** Open streams, so that a shutdown can cut those whose reader does not read. */
  private readonly sinks = new Set<EventSink>();

  constructor(
    @Inject(Reflector) private readonly reflector: Reflector,
    @Inject(OperationRegistry) private readonly registry: OperationRegistry,
    @Inject(OperationRunner) private readonly runner: OperationRunner,
    @Inject(Clock) private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  intercept(context: ExecutionContext, _next: CallHandler): Observable<unknown> {
    const http = context.switchToHttp();
    const { id } = this.reflector.get<Operation>(OPERATION, context.getHandler());
    return from(this.answer(id, http.getRequest<FastifyRequest>(), http.getResponse<FastifyReply>()));
  }

  /** The owners of the streams have said goodbye by now; a reader who did not take it is cut off. */
  async beforeApplicationShutdown(): Promise<void> {
    const until = this.clock.monotonicMs() + Math.min(GOODBYE_MS, this.config.drainSeconds * 1_000);
    while (this.sinks.size > 0 && this.clock.monotonicMs() < until) await this.clock.sleep(LOOK_MS);
    for (const sink of this.sinks) sink.destroy();
  }

  private async answer(id: string, request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    const { op, handle } = this.registry.get(id);
    const headers = new Map<string, string>();
    const cookies: Cookie[] = [];
    const call: Call = {
      presented: presentedBy(request),
      input: { path: request.params, query: request.query, headers: request.headers },
      readBody: op.evidence ? evidenceBody(request.rawBody) : strictBody(request.rawBody, this.config.jsonDepthLimit),
      idempotencyKey: request.headers['idempotency-key']?.toString(),
      requestId: request.id,
      traceparent: request.headers['traceparent']?.toString(),
      headers,
      cookies,
      handled: request.admitted?.release,
      isGone: () => request.socket.destroyed,
    };
    const result = await this.runner.run(op, handle, call);
    for (const [name, value] of headers) void reply.header(name, value);
    for (const cookie of cookies) setCookie(cookie, reply);
    if (Array.isArray(result) || result instanceof WrittenList)
      void reply.header('x-server-time', wireTime(this.clock.now()));
    return this.write(op, result, request, reply);
  }

  /** Returns what Nest still has to send. */
  private write(op: Operation, result: unknown, request: FastifyRequest, reply: FastifyReply): unknown {
    const { output } = op;
    if (op.packed) return pack(result, request, reply);
    if (result instanceof LiveStream) return this.open(result, request, reply);
    if (result instanceof Redirect) return void reply.header('location', result.location);
    if (result instanceof FileAnswer) return this.download(result, request, reply);
    if (result instanceof WrittenList) return inPieces(result, reply);
    if (!isSchema(output) && output.produces === 'html') {
      void reply.type('text/html; charset=utf-8');
      return result;
    }
    return !isSchema(output) && output.produces === 'nothing' ? undefined : sendable(result, reply);
  }

  /** A part where one is asked for and the file is still the one that the caller has the other part of. */
  private download(file: FileAnswer, request: FastifyRequest, reply: FastifyReply): undefined {
    const { bytes, tag } = file;
    const { range: wanted, 'if-range': known } = request.headers;
    const range = known === undefined || known === tag ? rangeOf(wanted, bytes.length) : undefined;
    if (range === 'unsatisfiable') {
      void reply.header('content-range', `bytes */${bytes.length}`);
      throw RangeNotSatisfiable();
    }
    const part = range ? bytes.subarray(range.start, range.end) : bytes;
    reply.hijack(); // left to Nest, a part would be answered with the status of the whole
    reply.raw.writeHead(range ? 206 : 200, {
      ...(reply.getHeaders() as Record<string, string>),
      ...file.headers,
      ...(range ? { 'content-range': `bytes ${range.start}-${range.end - 1}/${bytes.length}` } : {}),
      'content-length': part.length,
      'x-request-id': request.id,
    });
    reply.raw.end(request.method === 'HEAD' ? undefined : part);
    return undefined;
  }

  private open(stream: LiveStream, request: FastifyRequest, reply: FastifyReply): undefined {
    reply.hijack(); // Fastify lets go of the response, and so do its header hooks: hand their headers over
    request.socket.setNoDelay(true);
    request.socket.setTimeout(0);
    reply.raw.writeHead(200, {
      ...(reply.getHeaders() as Record<string, string>),
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
      'x-request-id': request.id,
    });
    reply.raw.flushHeaders();
    if (request.method === 'HEAD') return void reply.raw.end();
    const sink = new EventSink(reply.raw);
    if (sink.signal.aborted) return undefined;
    this.sinks.add(sink);
    sink.signal.addEventListener('abort', () => this.sinks.delete(sink));
    stream.attach(sink);
    return undefined;
  }
}

function setCookie({ name, value, path, seconds, secure }: Cookie, reply: FastifyReply): void {
  void reply.setCookie(name, value, { path, maxAge: seconds, secure, httpOnly: true, sameSite: 'lax' });
}

/** Each piece is let go of when it has been sent. */
function inPieces({ pieces, bytes }: WrittenList, reply: FastifyReply): Readable {
  void reply.type('application/json; charset=utf-8').header('content-length', bytes);
  return Readable.from(pieces);
}

async function pack(result: unknown, request: FastifyRequest, reply: FastifyReply): Promise<string | Buffer> {
  const json = JSON.stringify(result);
  void reply.type('application/json; charset=utf-8').header('vary', 'accept-encoding');
  const packed = takesGzip(request.headers['accept-encoding']) ? await packedJson(json) : undefined;
  if (packed) void reply.header('content-encoding', 'gzip');
  return packed ?? json;
}

/** Left to themselves, Fastify sends a string as text and null as nothing. */
function sendable(result: unknown, reply: FastifyReply): unknown {
  if (typeof result === 'object' && result !== null) return result;
  void reply.type('application/json; charset=utf-8');
  return JSON.stringify(result);
}
