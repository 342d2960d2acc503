import { Controller } from '@nestjs/common';
import { z } from 'zod';
import { LiveStream, serverSentEvent, type EventSink } from '../../../src/platform/http/live-stream.ts';
import { freeObject } from '../../../src/platform/json/json.ts';
import { Handles } from '../../../src/platform/operation/handles.ts';
import { anyone, operation, unaudited, type In, type OpContext } from '../../../src/platform/operation/operation.ts';
import { empty, html, jsonOrStream, stream } from '../../../src/platform/operation/output.ts';

const base = { summary: 'A test.', capability: anyone('a test'), faults: [] } as const;
const Echo = z.looseObject({});
const Task = z.strictObject({ agent_id: z.string(), task_id: z.string() });
const post = <Path extends `/${string}`>(path: Path) => ({ method: 'POST', path, status: 200 }) as const;

const send = operation({
  ...base,
  id: 'runs.test_send',
  http: post('/a2a/{agent_id}/message:send'),
  audit: unaudited('a test'),
  input: { path: z.strictObject({ agent_id: z.string() }) },
  output: Echo,
});
const cancel = operation({
  ...base,
  id: 'runs.test_cancel',
  http: post('/a2a/{agent_id}/tasks/{task_id}:cancel'),
  audit: unaudited('a test'),
  input: { path: Task },
  output: Echo,
});
const task = operation({
  ...base,
  id: 'runs.test_task',
  http: { method: 'GET', path: '/a2a/{agent_id}/tasks/{task_id}', status: 200 },
  input: { path: Task },
  output: Echo,
});
const everything = operation({
  ...base,
  id: 'runs.test_everything',
  http: { method: 'PUT', path: '/parts/{worker_id}', status: 202 },
  audit: unaudited('a test'),
  input: {
    path: z.strictObject({ worker_id: z.string() }),
    query: z.object({ tag: z.array(z.string()).optional(), deep: z.coerce.number() }),
    headers: z.object({ 'x-more': z.string().optional() }),
    body: z.object({ worker_id: z.string(), size: z.number() }).nullish(),
  },
  output: Echo,
});
const list = operation({
  ...base,
  id: 'runs.test_list',
  http: post('/parts-list'),
  audit: unaudited('a test'),
  input: { body: z.array(z.number()) },
  output: z.union([z.number(), z.string(), z.array(z.number())]).nullable(),
});
const clear = operation({
  ...base,
  id: 'runs.test_clear',
  http: { method: 'DELETE', path: '/parts/{worker_id}', status: 204 },
  audit: unaudited('a test'),
  input: { path: z.strictObject({ worker_id: z.string() }) },
  output: empty,
});
const watch = operation({
  ...base,
  id: 'runs.test_watch',
  http: { method: 'GET', path: '/watch', status: 200 },
  transaction: 'none',
  input: {},
  output: stream('tick'),
});
const either = operation({
  ...base,
  id: 'runs.test_either',
  http: { method: 'GET', path: '/either', status: 200 },
  input: { query: z.object({ stream: z.stringbool().default(false) }) },
  output: jsonOrStream(z.object({ n: z.number() }), 'tick'),
});
const page = operation({
  ...base,
  id: 'runs.test_page',
  http: { method: 'GET', path: '/page', status: 200 },
  transaction: 'none',
  input: {},
  output: html,
});
const echo = operation({
  ...base,
  id: 'runs.test_echo',
  http: post('/echo'),
  audit: unaudited('a test'),
  input: { body: freeObject() },
  output: z.object({ body: z.string(), request: z.string(), trace: z.string().nullable() }),
});
const big = operation({
  ...base,
  id: 'runs.test_big',
  http: post('/big'),
  audit: unaudited('a test'),
  bodyLimit: 'run',
  input: { body: z.unknown() },
  output: z.number(),
});
const guarded = operation({
  ...base,
  id: 'runs.test_guarded',
  http: { method: 'POST', path: '/guarded', status: 204 },
  capability: 'run.cancel',
  audit: { action: 'test.guarded', target: () => ['thing', 'guarded'] },
  input: {},
  output: empty,
});

/** The streams that were opened, in order. */
export const sinks: EventSink[] = [];
const ticking = () =>
  new LiveStream((sink) => {
    sinks.push(sink);
    sink.write(serverSentEvent('tick', '{"n":1}', 1));
  });

/** Operations of every shape that the transport knows. */
@Controller()
export class Shapes {
  @Handles(send) async send(_: OpContext, input: In<typeof send>) {
    return { ...input, at: 'send' };
  }
  @Handles(cancel) async cancel(_: OpContext, input: In<typeof cancel>) {
    return { ...input, at: 'cancel' };
  }
  @Handles(task) async task(_: OpContext, input: In<typeof task>) {
    return { ...input, at: 'task' };
  }
  @Handles(everything) async everything(_: OpContext, input: In<typeof everything>) {
    return { ...input };
  }
  @Handles(list) async list(ctx: OpContext, { body }: In<typeof list>) {
    ctx.header('X-Next-Cursor', 'next');
    return body.length === 0 ? null : body.length === 1 ? (body[0] ?? 0) : body.length === 2 ? body.join() : body;
  }
  @Handles(clear) async clear(): Promise<void> {}
  @Handles(watch) async watch() {
    return ticking();
  }
  @Handles(either) async either(_: OpContext, input: In<typeof either>) {
    return input.stream ? ticking() : { n: 1, more: 2 };
  }
  @Handles(page) async page() {
    return '<p>hello</p>';
  }
  @Handles(echo) async echo(ctx: OpContext, body: In<typeof echo>) {
    return { body: JSON.stringify(body), request: ctx.requestId, trace: ctx.traceparent ?? null };
  }
  @Handles(big) async big(_: OpContext, { body }: In<typeof big>) {
    return JSON.stringify(body).length;
  }
  @Handles(guarded) async guarded(): Promise<void> {}
}
