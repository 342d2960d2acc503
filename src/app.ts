import 'reflect-metadata';
import { randomUUID } from 'node:crypto';
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Type } from '@nestjs/common';
import fastifyCookie from '@fastify/cookie';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppModule } from './app.module.ts';
import { CONFIG, type Config } from './platform/config/config.ts';
import { Database } from './platform/db/database.ts';
import { gatherJsonBodies } from './platform/http/body.ts';
import { BodyAdmission } from './platform/http/body-admission.ts';
import { faultFrom, sendFault } from './platform/http/faults.ts';
import { FRAMES_PATH, FramesTransport } from './platform/http/frames-transport.ts';
import { PLAIN_HEADERS, secureAnswers } from './platform/http/security-headers.ts';
import { Log, NestLog } from './platform/log/log.ts';
import { OperationRegistry } from './platform/operation/registry.ts';
import type { Foundations } from './platform/platform.module.ts';
import { Replica } from './platform/replica/replica.ts';

/** A running application: Nest's, and the end of everything in the right order. */
export interface Application {
  readonly nest: NestFastifyApplication;
  /** Takes no new work, ends streams, finishes short requests, and lets go of the database last. */
  close(): Promise<void>;
}

const REQUEST_ID = /^[\w.:-]{8,100}$/;
/** Longer than the load balancers before us, or they reuse a connection that we just closed; and than httpx, which drops after 5 s. */
const KEEP_ALIVE_MS = 65_000;
/** How long a request may take to arrive whole: a sender who stalls would hold what it has sent for ever. */
const REQUEST_MS = 120_000;
const requests = new Log('http');

/**
 * Builds the application on a migrated database; the caller decides where it listens. Tests add `controllers` with
 * operations of a shape that the product has none of.
 */
export async function createApp(foundations: Foundations, controllers: readonly Type[] = []): Promise<Application> {
  const { config } = foundations;
  const nest = await NestFactory.create<NestFastifyApplication>(
    AppModule.on(foundations, controllers),
    openAdapter(config),
    {
      bodyParser: false,
      abortOnError: false,
      logger: new NestLog(),
    },
  );
  const fastify = nest.getHttpAdapter().getInstance();
  await fastify.register(fastifyCookie, { hook: false }); // read where somebody asks: frames have none
  await secureAnswers(fastify, config);
  const limitOf = bodyLimits(nest, config);
  nest.get(BodyAdmission).mount(fastify, limitOf);
  gatherJsonBodies(fastify, limitOf);
  fastify.addHook('onSend', nameRequest);
  fastify.addHook('onResponse', logRequest);
  nest.get(FramesTransport).mount(fastify);
  const connections = openConnections(nest.getHttpServer());
  try {
    await nest.get(Database).assertWalled();
    await nest.init();
  } catch (error) {
    await close(nest, connections).catch(() => {}); // the reason is what counts
    throw error;
  }
  return { nest, close: () => close(nest, connections) };
}

async function close(nest: NestFastifyApplication, connections: ReadonlySet<Socket>): Promise<void> {
  nest.get(Replica).drain();
  const database = nest.get(Database);
  const server = nest.getHttpServer();
  // Made in advance, by a browser or a balancer, and silent so far: a shutdown need not wait for these.
  for (const socket of connections) if (socket.bytesRead === 0) socket.destroy();
  const patience = setTimeout(() => server.closeAllConnections(), nest.get<Config>(CONFIG).drainSeconds * 1_000);
  await nest.close().finally(() => clearTimeout(patience));
  await database.close();
}

function openConnections(server: Server): ReadonlySet<Socket> {
  const connections = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    connections.add(socket);
    socket.once('close', () => connections.delete(socket));
  });
  return connections;
}

function openAdapter({ trustedProxies, headersLimitBytes }: Config): FastifyAdapter {
  return new FastifyAdapter({
    http: { maxHeaderSize: headersLimitBytes },
    keepAliveTimeout: KEEP_ALIVE_MS,
    requestTimeout: REQUEST_MS,
    return503OnClosing: false, // what arrives on an open connection while we drain is still answered
    trustProxy: trustedProxies.length > 0 ? [...trustedProxies] : false,
    routerOptions: { maxParamLength: 1_000 }, // 100 by default, and a longer id is then 404
    genReqId: requestId,
    clientErrorHandler: answerUnreadable,
    frameworkErrors: (error: unknown, request: FastifyRequest, reply: FastifyReply) =>
      sendFault(reply.headers(PLAIN_HEADERS), faultFrom(error), request.id),
  });
}

/** The caller's own id where it sends a usable one, so that one id runs through its logs and ours. */
function requestId({ headers }: { readonly headers: Readonly<Record<string, string | string[] | undefined>> }): string {
  const given = headers['x-request-id'];
  return typeof given === 'string' && REQUEST_ID.test(given) ? given : `req_${randomUUID().replaceAll('-', '')}`;
}

async function nameRequest(request: FastifyRequest, reply: FastifyReply, payload: unknown): Promise<unknown> {
  void reply.header('x-request-id', request.id);
  return payload;
}

/** Frames are 99 % of the traffic and say nothing by themselves: only those that were refused are written. A flood is not. */
async function logRequest(request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const { statusCode } = reply;
  const route = request.routeOptions.url ?? 'unknown';
  const isQuiet = statusCode === 429 || (statusCode < 400 && (request.method === 'GET' || route === FRAMES_PATH));
  const fields = {
    method: request.method,
    route,
    status: statusCode,
    ms: Math.round(reply.elapsedTime),
    request_id: request.id,
  };
  if (statusCode >= 500) requests.warn('request', fields);
  else if (isQuiet) requests.debug('request', fields);
  else requests.info('request', fields);
}

/** A text as JSON takes more bytes than it has: quotes and line breaks take two each. What is left is counted exactly. */
const ARTIFACT_BODY = 2;

/** How many bytes of a body are read, by what its operation declares. */
function bodyLimits(nest: NestFastifyApplication, config: Config): (request: FastifyRequest) => number {
  const registry = nest.get(OperationRegistry);
  const limits = {
    body: config.bodyLimitBytes,
    run: config.runBodyLimitBytes,
    frame: config.frameLimitBytes,
    artifact: ARTIFACT_BODY * config.artifactLimitBytes,
  };
  return ({ method, routeOptions: { url = '' } }) => {
    if (url === FRAMES_PATH) return limits.frame;
    return limits[registry.ofRoute(method, url)?.op.bodyLimit ?? 'body'];
  };
}

/** What Node could not parse never becomes a request: too large headers, or no HTTP at all. */
function answerUnreadable(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || socket.destroyed) return;
  const isTooLarge = error.code === 'HPE_HEADER_OVERFLOW';
  const [status, code, detail] = isTooLarge
    ? ['431 Request Header Fields Too Large', 'input.headers_too_large', 'The headers are too large']
    : ['400 Bad Request', 'route.unreadable', 'The request could not be read'];
  const body = JSON.stringify({ detail, code, request_id: `req_${randomUUID().replaceAll('-', '')}` });
  socket.end(
    `HTTP/1.1 ${status}\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
}
