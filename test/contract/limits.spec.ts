import http from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { exchange, requestOf, type Asked } from './exchange.ts';
import { Stage, rightfulKey, samplesWhere } from './stage.ts';

const KiB = 1_024;
/** Small, so that the sweep is fast; that they are settings is part of the promise. */
const LIMITS = { body: 64 * KiB, run: 128 * KiB, frame: 256 * KiB, artifact: 512 * KiB };
const HEADERS_LIMIT = 16 * KiB; // the default

let stage: Stage;

beforeAll(async () => {
  stage = await Stage.open({
    env: {
      SIGNALBOX_BODY_LIMIT_BYTES: String(LIMITS.body),
      SIGNALBOX_RUN_BODY_LIMIT_BYTES: String(LIMITS.run),
      SIGNALBOX_FRAME_LIMIT_BYTES: String(LIMITS.frame),
      SIGNALBOX_ARTIFACT_LIMIT_BYTES: String(LIMITS.artifact / 2), // the body of one may take twice as much
    },
  });
});
afterAll(() => stage.app.stop());

describe.each(samplesWhere(({ input }) => input.body !== undefined))('413: %s', (_id, sampled) => {
  const { op } = sampled;
  const limit = LIMITS[op.frame ? 'frame' : (op.bodyLimit ?? 'body')];

  test('takes a body up to its limit and not one byte more, and names the limit', async () => {
    const sample = await sampled.make(stage.home);
    const asked = requestOf(op, sample, rightfulKey(op, sample, stage.home));
    const sized = (bytes: number): string => String(asked.body ?? '{}').padEnd(bytes, ' ');
    const tooLarge = await exchange(stage.app.url, { ...asked, body: sized(limit + 1) });
    expect({ status: tooLarge.status, code: tooLarge.json?.code, detail: tooLarge.json?.detail }).toEqual({
      status: 413,
      code: 'input.too_large',
      detail: expect.stringContaining(String(limit)),
    });
    expect(await chunked(asked, sized(limit + 1))).toMatchObject({ status: 413 });
    const fits = await exchange(stage.app.url, { ...asked, body: sized(limit) });
    expect(fits.status).not.toBe(413);
  });
});

test('413: a body that never ends is counted while it is read, and refused before it ends', async () => {
  const headers = {
    authorization: `Bearer ${stage.home.key}`,
    'content-type': 'application/json',
    'transfer-encoding': 'chunked',
  };
  const piece = Buffer.alloc(1_024 * KiB, ' ');
  const { status } = await raw({ method: 'POST', path: '/api/v1/api-keys', headers }, (request) => {
    const more = (): void => {
      while (!request.destroyed && request.write(piece));
      request.once('drain', more);
    };
    more();
  });
  expect(status).toBe(413);
});

test('431: headers over 16 KiB together are refused, with the error body of the contract', async () => {
  const fits = await withHeaders(HEADERS_LIMIT - 2 * KiB);
  expect(fits.status).toBe(200);
  const over = await withHeaders(HEADERS_LIMIT + 1 * KiB);
  expect(over.status).toBe(431);
  expect(over.json).toEqual({
    detail: expect.any(String),
    code: 'input.headers_too_large',
    request_id: expect.any(String),
  });
  const many = await withHeaders(HEADERS_LIMIT + 1 * KiB, 50);
  expect(many.status).toBe(431);
});

interface RawAnswer {
  readonly status: number;
  readonly json: unknown;
}

type Send = (request: http.ClientRequest) => void;

/** Sends a body whose length is not announced. */
function chunked({ method, path, key }: Asked, body: string): Promise<RawAnswer> {
  const headers = {
    authorization: `Bearer ${key}`,
    'content-type': 'application/json',
    'transfer-encoding': 'chunked',
  };
  return raw({ method, path, headers }, (request) => request.end(body));
}

function withHeaders(bytes: number, parts = 1): Promise<RawAnswer> {
  const each = 'x'.repeat(Math.floor(bytes / parts));
  const headers = Object.fromEntries(Array.from({ length: parts }, (_, index) => [`x-padding-${index}`, each]));
  return raw({ method: 'GET', path: '/healthz', headers }, (request) => request.end());
}

/** Without the client that the other tests use: it has limits of its own. */
function raw(
  options: { readonly method: string; readonly path: string; readonly headers: Record<string, string> },
  send: Send,
): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    const request = http.request(new URL(options.path, stage.app.url), {
      method: options.method,
      headers: options.headers,
      agent: false,
    });
    request.once('response', (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => (text += chunk));
      response.once('end', () => {
        request.removeAllListeners('drain').destroy();
        resolve({ status: response.statusCode ?? 0, json: text === '' ? undefined : JSON.parse(text) });
      });
    });
    request.once('error', reject);
    send(request);
  });
}
