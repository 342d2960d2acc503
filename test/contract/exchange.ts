import { randomBytes } from 'node:crypto';
import { expect } from '@jest/globals';
import type { Operation } from '../../src/platform/operation/operation.ts';
import type { Json } from '../support/app.ts';
import type { Sample } from '../support/samples/sample.ts';

/** One request as it goes over the wire. */
export interface Asked {
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  readonly key?: string | undefined;
  /** As it is; absent: no body and no content type. */
  readonly body?: string | Uint8Array | undefined;
  readonly headers?: Readonly<Record<string, string>>;
}

/** What came back. A live stream is closed as soon as its head is there, and has no text. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly type: string;
  readonly text: string;
  readonly json: Json;
  /** The id that was sent with the request and must come back. */
  readonly requestId: string;
}

export const FRAMES_OPERATION = 'workers.frames';

/** Sends a request and holds its answer to what every answer owes (contract.md C4, U-31). */
export async function exchange(base: string, asked: Asked): Promise<Answer> {
  const answer = await sent(base, asked);
  assertSound(answer, asked);
  return answer;
}

/** A sample of an operation as the request that carries it: a route's, or a frame's. */
export function requestOf(op: Operation, sample: Sample, key: string | undefined): Asked {
  const { path, body } = sample;
  if (op.http) {
    const place = pathOf(op.http.path, path) + queryOf(sample.query);
    const headers = { ...sample.headers };
    return {
      method: op.http.method,
      path: place,
      key,
      headers,
      body: body === undefined ? undefined : JSON.stringify(body),
    };
  }
  const place = pathOf('/api/v1/workers/{worker_id}/frames', path);
  return { method: 'POST', path: place, key, body: JSON.stringify(envelopeOf(op, sample)) };
}

/** The same request with another body, written by hand; of a frame it is the payload. */
export function withRawBody(
  op: Operation,
  sample: Sample,
  raw: { readonly key: string; readonly body: string },
): Asked {
  const asked = requestOf(op, sample, raw.key);
  if (op.http) return { ...asked, body: raw.body };
  const { payload: _, ...around } = envelopeOf(op, sample);
  return { ...asked, body: `${JSON.stringify(around).slice(0, -1)},"payload":${raw.body}}` };
}

export function newToken(bytes = 10): string {
  return randomBytes(bytes).toString('hex');
}

/** The same text for the same value, whatever the order of its names; `__proto__` is a name like any other. */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (typeof value !== 'object' || value === null) return Object.is(value, -0) ? '0' : JSON.stringify(value);
  const names = Object.keys(value).sort();
  return `{${names.map((name) => `${JSON.stringify(name)}:${canonical((value as Readonly<Record<string, unknown>>)[name])}`).join()}}`;
}

function envelopeOf({ frame }: Operation, { body, envelope }: Sample) {
  return {
    id: `msg_${newToken(16)}`,
    type: frame?.type,
    payload: body ?? {},
    ...envelope,
    ...(frame?.reply ? { needsReply: true } : {}),
  };
}

function pathOf(template: string, values: Readonly<Record<string, string>> = {}): string {
  return template.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(values[name] ?? 'none'));
}

function queryOf(query: Sample['query']): string {
  const pairs = Object.entries(query ?? {}).map(
    ([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`,
  );
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`;
}

async function sent(base: string, { method, path, key, body, headers }: Asked): Promise<Answer> {
  const requestId = `sweep-${newToken()}`;
  const leaving = new AbortController();
  const response = await fetch(base + path, {
    method,
    redirect: 'manual',
    signal: leaving.signal,
    headers: {
      'x-request-id': requestId,
      ...(key === undefined ? {} : credentialOf(key, base)),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: body as string }),
  });
  const type = response.headers.get('content-type') ?? '';
  const isLive = type.startsWith('text/event-stream');
  if (isLive) leaving.abort();
  const text = isLive ? '' : await response.text();
  const json = type.includes('json') && text !== '' ? JSON.parse(text) : undefined;
  return { status: response.status, headers: response.headers, type, text, json, requestId };
}

/** A session's cookie comes with the origin of the page that calls, as from a browser. */
function credentialOf(key: string, base: string): Readonly<Record<string, string>> {
  if (key.startsWith('signalbox_session=')) return { cookie: key, origin: base };
  return { authorization: `Bearer ${key}` };
}

/** What every answer tells a browser, whatever it answers. */
const SAFE = {
  guess: 'nosniff',
  framed: 'DENY',
  policy: expect.stringContaining("default-src 'none'"),
  kept: expect.stringMatching(/no-store|no-cache|max-age/),
  maker: null,
};

function safetyOf(headers: Headers): Readonly<Record<keyof typeof SAFE, string | null>> {
  return {
    guess: headers.get('x-content-type-options'),
    framed: headers.get('x-frame-options'),
    policy: headers.get('content-security-policy'),
    kept: headers.get('cache-control'),
    maker: headers.get('x-powered-by') ?? headers.get('server'),
  };
}

const PARTS = ['path', 'query', 'headers', 'body'];
/** What must never leave: a stack, a statement, a name of our tables' machinery. */
const INSIDES = /\n\s+at |node_modules|SELECT .* FROM|INSERT INTO|pg_|PrismaClient|\.ts:\d/;

function assertSound({ status, headers, type, text, json, requestId }: Answer, { method, path }: Asked): void {
  const told = { asked: `${method} ${path.slice(0, 200)}`, status, text: status < 400 ? '' : text.slice(0, 2_000) };
  expect({ ...told, isOurFault: status >= 500 && status !== 503 }).toEqual({ ...told, isOurFault: false });
  expect({ ...told, id: headers.get('x-request-id') }).toEqual({ ...told, id: requestId });
  expect({ ...told, ...safetyOf(headers) }).toEqual({ ...told, ...SAFE });
  if (status < 400) return;
  expect({ ...told, type: type.split(';')[0] }).toEqual({ ...told, type: 'application/json' });
  expect({ ...told, members: Object.keys(json as object).sort() }).toEqual({
    ...told,
    members: ['code', 'detail', 'request_id'],
  });
  expect(json.request_id).toBe(requestId);
  expect(json.code).toMatch(/^[a-z_]+\.[a-z_]+$/);
  expect(text).not.toMatch(INSIDES);
  if (status === 401) expect(headers.get('www-authenticate')).toMatch(/^Bearer/);
  if (status === 429 || status === 503) expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
  if (status !== 422 || typeof json.detail === 'string') expect(typeof json.detail).toBe('string');
  else assertProblems(json.detail, told);
}

function assertProblems(detail: Json, told: object): void {
  expect(detail.length).toBeGreaterThan(0);
  for (const problem of detail) {
    expect({ ...told, members: Object.keys(problem as object).sort() }).toEqual({
      ...told,
      members: ['loc', 'msg', 'type'],
    });
    expect(PARTS).toContain(problem.loc[0]);
    for (const step of problem.loc) expect(['string', 'number']).toContain(typeof step);
    expect(typeof problem.msg).toBe('string');
    expect(typeof problem.type).toBe('string');
  }
}
