import type { FastifyRequest } from 'fastify';
import type { Presented } from '../operation/ports.ts';

/** The credential of a request. A query string is never looked at: it ends up in other people's logs. */
export function presentedBy(request: FastifyRequest): Presented {
  return { bearer: /^Bearer +(\S+) *$/i.exec(request.headers.authorization ?? '')?.[1], address: request.ip };
}
