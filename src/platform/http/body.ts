import type { FastifyInstance, FastifyRequest } from 'fastify';
import { InputTooLarge, UnsupportedType } from '../faults/faults.ts';
import { parseEvidence, parseStrict } from '../json/json.ts';
import { InputInvalid } from '../faults/faults.ts';
import type { ReadBody } from '../operation/runner.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The body as it was sent. It is parsed only once the caller is known. */
    rawBody?: Buffer;
  }
}

const JSON_TYPES = ['application/json', 'application/a2a+json'];
/** How much of a body beyond its limit is read and dropped: a caller who is still sending does not read our refusal. */
const DROPPED_BYTES_MAX = 64 * 1024 * 1024;

/**
 * Replaces Fastify's parsers by one that only gathers bytes, up to the limit of the route: what is too large is never held,
 * and nothing is parsed for a caller who may not call.
 */
export function gatherJsonBodies(fastify: FastifyInstance, limitOf: (request: FastifyRequest) => number): void {
  fastify.removeAllContentTypeParsers();
  fastify.addContentTypeParser(JSON_TYPES, (request, payload, done) => {
    if (!isPlainUtf8(request))
      return done(UnsupportedType({ message: 'The body must be JSON in UTF-8, not compressed' }), undefined);
    const limit = limitOf(request);
    const chunks: Buffer[] = [];
    let size = 0;
    let isOver = false;
    const settle = (error: Error | null): void => {
      if (isOver) return;
      isOver = true;
      done(error, undefined);
    };
    const tooLarge = () => InputTooLarge({ message: `The body is larger than the limit of ${limit} bytes` });
    payload.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size <= limit) chunks.push(chunk);
      else chunks.length = 0;
      if (size > limit + DROPPED_BYTES_MAX) settle(tooLarge());
    });
    payload.once('error', settle);
    payload.once('end', () => {
      if (size > limit) return settle(tooLarge());
      request.rawBody = Buffer.concat(chunks, size);
      settle(null);
    });
  });
}

function isPlainUtf8({ headers }: FastifyRequest): boolean {
  const charset = /;\s*charset="?([^";]+)/i.exec(headers['content-type'] ?? '')?.[1] ?? 'utf-8';
  return /^utf-?8$/i.test(charset.trim()) && /^(identity)?$/i.test(headers['content-encoding'] ?? '');
}

/** Reads a body that must be exactly storable: whatever is not is 422, with its place. */
export function strictBody(raw: Buffer | undefined, maxDepth: number): ReadBody {
  return () => {
    if (!raw || raw.length === 0) return { value: undefined, altered: [] };
    const read = parseStrict(raw, { maxDepth });
    if (!read.ok) throw InputInvalid({ problems: read.problems });
    return { value: read.value, altered: [] };
  };
}

/** Reads a body of evidence: what cannot be stored as sent is altered and named. */
export function evidenceBody(raw: Buffer | undefined): ReadBody {
  return () => {
    if (!raw || raw.length === 0) return { value: undefined, altered: [] };
    const read = parseEvidence(raw);
    if (!read.ok) throw InputInvalid({ problems: read.problems });
    return { value: read.value, altered: read.altered };
  };
}
