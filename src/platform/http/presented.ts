import type {} from '@fastify/cookie';
import type { FastifyRequest } from 'fastify';
import type { Browser, Presented } from '../operation/ports.ts';

const READING: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/** The credential of a request. A query string is never looked at: it ends up in other people's logs. */
export function presentedBy(request: FastifyRequest): Presented {
  return {
    bearer: /^Bearer +(\S+) *$/i.exec(request.headers.authorization ?? '')?.[1],
    address: request.ip,
    browser: () => browserOf(request),
  };
}

function browserOf({ server, headers, protocol, host, originalUrl, method }: FastifyRequest): Browser {
  return {
    cookies: headers.cookie === undefined ? {} : server.parseCookie(headers.cookie),
    origin: headers.origin,
    called: `${protocol}://${host}`,
    url: originalUrl,
    userAgent: headers['user-agent'],
    changes: !READING.has(method),
  };
}
