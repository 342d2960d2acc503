import { once } from 'node:events';
import http from 'node:http';
import net from 'node:net';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startApp, type RunningApp } from '../../support/app.ts';
import { Shapes, sinks } from './shapes.ts';

const LIMITS = {
  SIGNALBOX_BODY_LIMIT_BYTES: '10240',
  SIGNALBOX_RUN_BODY_LIMIT_BYTES: '40960',
  SIGNALBOX_FRAME_LIMIT_BYTES: '81920',
  SIGNALBOX_HEADERS_LIMIT_BYTES: '8192',
};
const MEGABYTE = Buffer.alloc(1024 * 1024, 'x');
const json = { 'content-type': 'application/json' };
let app: RunningApp;
beforeAll(async () => void (app = await startApp({ controllers: [Shapes], env: LIMITS })));
afterAll(() => app.stop());

describe('a path', () => {
  it.each([
    ['POST', '/a2a/x/message:send', { agent_id: 'x', at: 'send' }],
    ['POST', '/a2a/x/tasks/run_1:cancel', { agent_id: 'x', task_id: 'run_1', at: 'cancel' }],
    ['POST', '/a2a/x/tasks/run%2F1:cancel', { agent_id: 'x', task_id: 'run/1', at: 'cancel' }],
    ['GET', '/a2a/x/tasks/run_1', { agent_id: 'x', task_id: 'run_1', at: 'task' }],
  ] as const)('%s %s reaches its operation', async (method, url, answer) => {
    expect((await app.call(method, url)).json).toEqual(answer);
  });

  it.each([
    '/a2a/x/message:other',
    '/a2a/x/messagesend',
    '/a2a/x/message',
    '/a2a/x/tasks/1:pause',
    '/a2a/x/tasks/:cancel',
    '/a2a/x/tasks/1/2:cancel',
  ])('POST %s reaches none, and is answered in the contract’s shape', async (url) => {
    const { status, json: body, headers } = await app.call('POST', url);
    expect([status, body]).toEqual([
      404,
      { detail: 'There is nothing here', code: 'route.not_found', request_id: headers.get('x-request-id') },
    ]);
  });

  it('may carry a long id', async () => {
    expect((await app.call('GET', `/a2a/x/tasks/${'t'.repeat(900)}`)).json.at).toBe('task');
  });

  it('that cannot be decoded is refused in the contract’s shape', async () => {
    expect((await app.call('GET', '/a2a/x/tasks/%ff')).json).toMatchObject({
      code: 'route.unreadable',
      detail: expect.any(String),
    });
  });
});

describe('an input', () => {
  it('is one flat object of all four parts, and a body does not talk about another row than the path', async () => {
    const body = { worker_id: 'other', size: 3 };
    const answer = await app.call('PUT', '/parts/w1?tag=a&deep=2', { body, headers: { 'x-more': 'm' } });
    expect([answer.status, answer.json]).toEqual([
      202,
      { worker_id: 'w1', tag: ['a'], deep: 2, size: 3, 'x-more': 'm' },
    ]);
  });

  it.each(['null', ''])('may lack its body (%j)', async (body) => {
    expect((await app.call('PUT', '/parts/w1?deep=2', { body })).json).toEqual({ worker_id: 'w1', deep: 2 });
    expect((await app.call('PUT', '/parts/w1?deep=2')).json).toEqual({ worker_id: 'w1', deep: 2 });
  });

  it('U-31: says in which part each problem is, as a list', async () => {
    const answer = await app.call('PUT', '/parts/w1?deep=no', { body: { worker_id: 1 } });
    expect(answer.status).toBe(422);
    expect(answer.json.detail.map(({ loc }: { loc: string[] }) => loc)).toEqual([
      ['query', 'deep'],
      ['body', 'worker_id'],
      ['body', 'size'],
    ]);
  });

  it('may be a list, and a problem in it names the index', async () => {
    expect((await app.call('POST', '/parts-list', { body: ['x'] })).json.detail[0].loc).toEqual(['body', 0]);
  });

  it('U-32: keeps __proto__ as a key and changes no object by it', async () => {
    const text = '{"__proto__":{"x":1},"constructor":{"prototype":2}}';
    expect((await app.call('POST', '/echo', { body: text })).json.body).toBe(`{"body":${text}}`);
    expect(({} as { x?: number }).x).toBeUndefined();
  });

  it.each([
    ['no JSON', '{', json, 422],
    ['too deep', '['.repeat(151) + ']'.repeat(151), json, 422],
    ['with NUL in it', '{"a":"\\u0000"}', json, 422],
    ['of another type', '<x/>', { 'content-type': 'text/xml' }, 415],
  ])('U-32: is refused when it is %s', async (_, body, headers, status) => {
    const answer = await app.call('POST', '/big', { body, headers });
    expect([answer.status, typeof answer.json.code, typeof answer.json.request_id]).toEqual([
      status,
      'string',
      'string',
    ]);
  });
});

describe('U-10: what is too large', () => {
  const sized = (bytes: number) => JSON.stringify({ a: 'x'.repeat(bytes - '{"a":""}'.length) });

  it('is refused by the limit of its operation, to the byte', async () => {
    for (const [path, limit] of [
      ['/echo', 10_240],
      ['/big', 40_960],
    ] as const) {
      expect((await app.call('POST', path, { body: sized(limit) })).status).toBe(200);
      const { status, json: body } = await app.call('POST', path, { body: sized(limit + 1) });
      expect([status, body.code, body.detail]).toEqual([
        413,
        'input.too_large',
        `The body is larger than the limit of ${limit} bytes`,
      ]);
    }
    expect((await app.call('POST', '/api/v1/workers/w/frames', { body: sized(81_921) })).status).toBe(413);
    expect((await app.call('POST', '/api/v1/workers/w/frames', { body: sized(81_920) })).status).toBe(401);
  });

  it('is read to its end and dropped, so that a caller who sends first can read the refusal; but not without end', async () => {
    expect(await sendMegabytes(20)).toEqual({ sent: 20, outcome: 413 });
    expect((await sendMegabytes(600)).sent).toBeLessThan(300);
    expect((await app.call('GET', '/healthz')).status).toBe(200);
  });

  it('U-31: among the headers is refused in the contract’s shape, and so is what is no HTTP', async () => {
    const heavy = await app.call('GET', '/healthz', { headers: { 'x-heavy': 'x'.repeat(9_000) } });
    expect([heavy.status, heavy.json]).toEqual([
      431,
      {
        detail: 'The headers are too large',
        code: 'input.headers_too_large',
        request_id: expect.stringMatching(/^req_/),
      },
    ]);
    const raw = await rawAnswer('NONSENSE\r\n\r\n');
    expect(raw).toMatch(/^HTTP\/1\.1 400 /);
    expect(JSON.parse(raw.slice(raw.indexOf('\r\n\r\n')))).toMatchObject({
      code: 'route.unreadable',
      detail: expect.any(String),
    });
  });
});

describe('a browser', () => {
  it.each([
    ['https://signalbox.test', 'max-age=31536000; includeSubDomains'],
    ['http://signalbox.test', null],
  ])('is told to insist on TLS where clients come by it: %s', async (PUBLIC_URL, expected) => {
    const one = await startApp({ database: app.database, env: { PUBLIC_URL } });
    const { headers } = await one.call('GET', '/healthz').finally(() => one.stop());
    expect(headers.get('strict-transport-security')).toBe(expected);
    expect(headers.get('referrer-policy')).toBe('no-referrer');
    expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
  });
});

describe('an output', () => {
  it('may be nothing, a page, or JSON that is no object', async () => {
    const cleared = await app.call('DELETE', '/parts/w1');
    expect([cleared.status, cleared.text, cleared.headers.get('content-type')]).toEqual([204, '', null]);
    const shown = await app.call('GET', '/page');
    expect([shown.text, shown.headers.get('content-type')]).toEqual(['<p>hello</p>', 'text/html; charset=utf-8']);
    for (const [body, answer] of [
      [[], 'null'],
      [[7], '7'],
      [[1, 2], '"1,2"'],
      [[1, 2, 3], '[1,2,3]'],
    ] as const) {
      const listed = await app.call('POST', '/parts-list', { body });
      expect([listed.text, listed.headers.get('content-type')]).toEqual([answer, 'application/json; charset=utf-8']);
      expect(listed.headers.get('x-next-cursor')).toBe('next');
    }
  });

  it('that is a list says what time it is here', async () => {
    const listed = await app.call('POST', '/parts-list', { body: [1, 2, 3] });
    expect(Math.abs(Date.parse(listed.headers.get('x-server-time') ?? '') - Date.now())).toBeLessThan(5_000);
  });

  it('may be a stream, with the same request id, that no proxy keeps back', async () => {
    const response = await open('/watch', { 'x-request-id': 'the-callers-own' });
    expect(response.headers).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
      'x-request-id': 'the-callers-own',
    });
    const [chunk] = (await once(response, 'data')) as [Buffer];
    expect(chunk.toString()).toBe('id: 1\nevent: tick\ndata: {"n":1}\n\n');
    response.destroy();
    await until(() => sinks.every(({ signal }) => signal.aborted));
  });

  it('may be either, and only JSON goes through the schema', async () => {
    expect((await app.call('GET', '/either')).json).toEqual({ n: 1 });
    const response = await open('/either?stream=true');
    expect(response.headers['content-type']).toContain('text/event-stream');
    response.destroy();
  });

  it('that is a stream does not stay open for whoever asked for the head only', async () => {
    const before = sinks.length;
    const request = http.request(`${app.url}/watch`, { method: 'HEAD', agent: false }).end();
    const [response] = (await once(request, 'response')) as [http.IncomingMessage];
    await once(response.resume(), 'end');
    expect([response.statusCode, sinks.length]).toEqual([200, before]);
    expect((await fetch(`${app.url}/healthz`, { method: 'HEAD' })).status).toBe(200);
  });
});

describe('every answer', () => {
  it.each([
    ['the-callers-own_id.1', 'the-callers-own_id.1'],
    ['short', undefined],
    ['with space in it', undefined],
    ['x'.repeat(101), undefined],
  ])('U-60: carries a request id: the caller’s where it is usable (%s)', async (given, kept) => {
    const answer = await app.call('POST', '/echo', {
      body: {},
      headers: { 'x-request-id': given, traceparent: '00-ab-cd-01' },
    });
    expect(answer.headers.get('x-request-id')).toBe(answer.json.request);
    expect(answer.json.request).toMatch(kept ?? /^req_[0-9a-f]{32}$/);
    expect(answer.json.trace).toBe('00-ab-cd-01');
  });

  it('U-34: allows no other origin to read it', async () => {
    const headers = { origin: 'https://elsewhere.example', 'access-control-request-method': 'POST' };
    for (const method of ['OPTIONS', 'GET']) {
      const response = await fetch(`${app.url}/healthz`, { method, headers });
      expect(response.headers.get('access-control-allow-origin')).toBeNull();
    }
  });

  it('keeps its connection for longer than a load balancer does', () => {
    expect(app.nest.getHttpServer().keepAliveTimeout).toBe(65_000);
  });
});

describe('a caller', () => {
  it('K-61, U-37: without a credential in the header is unknown, and told so as JSON', async () => {
    const { key } = await app.account();
    for (const [path, headers, code = 'auth.missing'] of [
      ['/guarded', {}],
      ['/guarded', { accept: 'text/html', authorization: `Basic ${key}` }],
      [`/guarded?token=${key}&api_key=${key}&access_token=${key}`, {}],
      ['/guarded', { 'x-api-key': key }],
      ['/guarded', { cookie: `signalbox_session=${key}` }, 'auth.invalid'],
    ] as const) {
      const answer = await app.call('POST', path, { headers });
      expect([answer.status, answer.json.code]).toEqual([401, code]);
      expect([answer.headers.get('content-type'), answer.headers.get('www-authenticate')]).toEqual([
        'application/json; charset=utf-8',
        'Bearer realm="signalbox"',
      ]);
    }
    expect((await app.call('POST', '/guarded', { key })).status).toBe(204);
  });

  it('has the address of its connection, whatever it claims', async () => {
    const { key, accountId } = await app.account();
    const claims = { 'x-forwarded-for': '203.0.113.9', 'x-real-ip': '203.0.113.9', forwarded: 'for=203.0.113.9' };
    await app.call('POST', '/guarded', { key, headers: claims });
    const rows = await app.database.query('SELECT address FROM audit_entry WHERE account_id = $1 AND action = $2', [
      accountId,
      'test.guarded',
    ]);
    expect(rows).toEqual([{ address: '127.0.0.1' }]);
  });

  it('has the address that a trusted proxy forwards', async () => {
    const behind = await startApp({
      controllers: [Shapes],
      database: app.database,
      env: { SIGNALBOX_TRUSTED_PROXIES: '127.0.0.0/8, 10.0.0.1' },
    });
    try {
      const { key, accountId } = await behind.account();
      await behind.call('POST', '/guarded', {
        key,
        headers: { 'x-forwarded-for': '198.51.100.1, 203.0.113.9, 10.0.0.1' },
      });
      const rows = await app.database.query('SELECT address FROM audit_entry WHERE account_id = $1 AND action = $2', [
        accountId,
        'test.guarded',
      ]);
      expect(rows).toEqual([{ address: '203.0.113.9' }]);
    } finally {
      await behind.stop();
    }
  });
});

describe('K-47: the served document', () => {
  it('describes exactly the routes that there are', async () => {
    const { status, json: document } = await app.call('GET', '/api/openapi.json');
    expect(status).toBe(200);
    expect(document.paths['/a2a/{agent_id}/tasks/{task_id}:cancel'].post).toMatchObject({
      operationId: 'runs.test_cancel',
      parameters: [
        { name: 'agent_id', in: 'path', required: true },
        { name: 'task_id', in: 'path', required: true },
      ],
      security: [],
    });
    expect(document.paths['/parts/{worker_id}'].put).toMatchObject({
      parameters: [
        { name: 'worker_id', in: 'path', required: true },
        { name: 'tag', in: 'query', required: false, schema: { type: 'array' } },
        { name: 'deep', in: 'query', required: true },
        { name: 'x-more', in: 'header', required: false },
      ],
      requestBody: { required: false },
      responses: {
        202: {},
        422: { content: { 'application/json': { schema: { $ref: '#/components/schemas/HTTPValidationError' } } } },
      },
    });
    expect(document.paths['/parts/{worker_id}'].delete.responses[204]).not.toHaveProperty('content');
    expect(document.paths['/parts-list'].post.requestBody).toMatchObject({
      required: true,
      content: { 'application/json': { schema: { type: 'array' } } },
    });
    expect(Object.keys(document.paths['/either'].get.responses[200].content)).toEqual([
      'application/json',
      'text/event-stream',
    ]);
    expect(document.paths['/guarded'].post).toMatchObject({
      'x-signalbox-capability': 'run.cancel',
      responses: { 401: {}, 403: {}, 503: {} },
    });
  });

  it('refers to nothing that it does not hold', async () => {
    const { text, json: document } = await app.call('GET', '/api/openapi.json');
    const names = [...text.matchAll(/"#\/components\/schemas\/([^"]+)"/g)].map(([, name]) => name ?? '');
    expect(names.length).toBeGreaterThan(0);
    expect(names.filter((name) => !Object.hasOwn(document.components.schemas, name))).toEqual([]);
  });

  it('can be read as a page that needs nothing but itself', async () => {
    const { headers, text } = await app.call('GET', '/api/docs');
    expect(headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(text).toContain('/a2a/{agent_id}/tasks/{task_id}:cancel');
    expect(text).not.toMatch(/<script|<link|src=|@import/);
  });
});

async function open(path: string, headers: Record<string, string> = {}): Promise<http.IncomingMessage> {
  const [response] = (await once(http.get(app.url + path, { agent: false, headers }), 'response')) as [
    http.IncomingMessage,
  ];
  return response.on('error', () => {});
}

/** How much of a body was taken, and what became of the call. */
async function sendMegabytes(megabytes: number): Promise<{ sent: number; outcome: unknown }> {
  const request = http.request(`${app.url}/echo`, { method: 'POST', agent: false, headers: json });
  let sent = 0;
  const body = Readable.from(
    (function* () {
      for (; sent < megabytes; sent += 1) yield MEGABYTE;
    })(),
  );
  const outcome = new Promise((resolve) => {
    request.once('response', (response) => resolve(response.resume().statusCode));
    request.on('error', () => resolve('the connection was closed'));
  });
  body.pipe(request);
  return { outcome: await outcome, sent };
}

async function rawAnswer(request: string): Promise<string> {
  const socket = net.connect(Number(new URL(app.url).port), '127.0.0.1');
  socket.end(request);
  let text = '';
  for await (const chunk of socket) text += String(chunk);
  return text;
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await sleep(5); // jest's timeout is the limit
}
