import { z } from 'zod';
import { FAULT_KINDS } from '../faults/faults.ts';
import type { Operation } from './operation.ts';
import { areaOf } from './operation.ts';
import { isSchema, type Output } from './output.ts';

type Json = { [key: string]: unknown };
type Routed = Operation & { readonly http: object };

/** Collects schemas that carry `.meta({ id })` so that they are described once and referred to. */
interface Components {
  readonly schemas: Json;
}

const SECURITY_SCHEMES: Json = {
  sessionCookie: { type: 'apiKey', in: 'cookie', name: 'signalbox_session' },
  apiKey: { type: 'http', scheme: 'bearer' },
  workerToken: { type: 'http', scheme: 'bearer' },
};

/** Describes operations as an OpenAPI 3.1 document. `title` and `version` are the program's. */
export function openApiOf(operations: readonly Operation[], version: string): Json {
  const components: Components = { schemas: { Fault: FAULT_SCHEMA, HTTPValidationError: VALIDATION_SCHEMA } };
  const paths: Record<string, Json> = {};
  for (const op of operations.filter(isRouted)) {
    paths[op.http.path] = { ...paths[op.http.path], [op.http.method.toLowerCase()]: describe(op, components) };
  }
  const frames = operations.flatMap(({ frame }) => frame?.type ?? []).sort();
  if (frames.length > 0) paths[FRAMES_PATH] = { post: describeFrames(frames) };
  return {
    openapi: '3.1.0',
    info: { title: 'Signalbox', version },
    paths,
    components: { ...components, securitySchemes: SECURITY_SCHEMES },
  };
}

function isRouted(op: Operation): op is Routed {
  return op.http !== undefined;
}

function describe(op: Routed, components: Components): Json {
  const { path, query, headers, body } = op.input;
  const parameters = [
    ...parametersOf('path', path, components),
    ...parametersOf('query', query, components),
    ...parametersOf('header', headers, components),
    ...(op.idempotent ? [IDEMPOTENCY_KEY] : []),
    ...(isFile(op.output) ? [RANGE] : []),
  ];
  return {
    operationId: op.id,
    tags: [areaOf(op)],
    summary: op.summary,
    ...(op.ours ? { 'x-signalbox': 'own' } : {}),
    ...(typeof op.capability === 'string' ? { 'x-signalbox-capability': op.capability } : {}),
    ...(isForWorkers(op) ? { 'x-agentops-audience': 'worker' } : {}),
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(body
      ? { requestBody: { required: !body.safeParse(undefined).success, ...json(schemaOf(body, 'input', components)) } }
      : {}),
    responses: responsesOf(op, components),
    security: securityOf(op),
  };
}

function isForWorkers({ capability }: Operation): boolean {
  return typeof capability === 'object' && 'onlyWorkers' in capability;
}

function securityOf(op: Operation): Json[] {
  if (typeof op.capability === 'object' && 'anyoneBecause' in op.capability) return [];
  if (isForWorkers(op)) return [{ workerToken: [] }];
  if (op.sessionsOnly) return [{ sessionCookie: [] }];
  return [
    { sessionCookie: [] },
    { apiKey: [] },
    ...(op.operatorsOnly || op.systemAdminsOnly ? [] : [{ workerToken: [] }]),
  ];
}

function parametersOf(
  place: 'path' | 'query' | 'header',
  schema: z.ZodObject | undefined,
  components: Components,
): Json[] {
  if (!schema) return [];
  return Object.entries(schema.shape).map(([name, field]) => ({
    name,
    in: place,
    required: place === 'path' || !(field as z.ZodType).safeParse(undefined).success,
    schema: schemaOf(field as z.ZodType, 'input', components),
  }));
}

function responsesOf(op: Routed, components: Components): Json {
  const responses: Json = { [op.http.status]: answerOf(op.output, components) };
  if (isFile(op.output)) responses[206] = { description: 'The part that was asked for', content: BYTES };
  const byStatus = new Map<number, string[]>();
  for (const { code, kind } of op.faults)
    byStatus.set(FAULT_KINDS[kind], [...(byStatus.get(FAULT_KINDS[kind]) ?? []), code]);
  const open = typeof op.capability === 'object' && 'anyoneBecause' in op.capability;
  if (!open) byStatus.set(401, ['auth.missing', 'auth.invalid', 'auth.expired', 'auth.revoked']);
  if (!open && !byStatus.has(403)) byStatus.set(403, ['access.denied']);
  byStatus.set(503, [...(byStatus.get(503) ?? []), 'database.unavailable']);
  for (const [status, codes] of byStatus) {
    if (status !== 422)
      responses[status] = { description: codes.join(', '), ...json({ $ref: '#/components/schemas/Fault' }) };
  }
  responses[422] = { description: 'input.invalid', ...json({ $ref: '#/components/schemas/HTTPValidationError' }) };
  return responses;
}

function answerOf(output: Output, components: Components): Json {
  if (isSchema(output)) return { description: 'Done', ...json(schemaOf(output, 'output', components)) };
  switch (output.produces) {
    case 'long list':
      return answerOf(output.schema, components);
    case 'nothing':
      return { description: 'Done; there is nothing to say' };
    case 'file':
      return { description: 'The bytes', content: BYTES };
    case 'redirect':
      return { description: 'Sends the browser on', headers: { Location: { schema: { type: 'string' } } } };
    case 'html':
      return { description: 'A page', content: { 'text/html': { schema: { type: 'string' } } } };
    case 'stream':
      return { description: output.events, content: eventStream() };
    case 'json or stream':
      return {
        description: output.events,
        content: { ...json(schemaOf(output.schema, 'output', components)).content, ...eventStream() },
      };
  }
}

/** One that cannot be read is passed over (RFC 9110), so the transport reads it, and no schema refuses it. */
const RANGE: Json = { name: 'Range', in: 'header', required: false, schema: { type: 'string' } };
const BYTES: Json = { 'application/octet-stream': { schema: { type: 'string', format: 'binary' } } };

function isFile(output: Output): boolean {
  return !isSchema(output) && output.produces === 'file';
}

function eventStream(): Json {
  return { 'text/event-stream': { schema: { type: 'string' } } };
}

function json(schema: Json): { content: Json } {
  return { content: { 'application/json': { schema } } };
}

/**
 * An answer holds no fields beyond those that are named, but a client must not refuse it when it does one day: so its
 * description is open, and the same schema reads alike in both directions.
 */
function leaveOpen(io: 'input' | 'output'): (context: { jsonSchema: Json }) => void {
  return ({ jsonSchema }) => {
    if (io === 'output' && jsonSchema['additionalProperties'] === false) delete jsonSchema['additionalProperties'];
  };
}

/** A zod schema as JSON Schema, with its named parts moved to the document's components. */
function schemaOf(schema: z.ZodType, io: 'input' | 'output', components: Components): Json {
  const described = z.toJSONSchema(schema, {
    target: 'draft-2020-12',
    io,
    unrepresentable: 'any',
    override: leaveOpen(io),
  });
  const raw = JSON.stringify(described);
  const {
    $schema: _,
    $defs = {},
    id,
    ...rest
  } = JSON.parse(raw.replaceAll('#/$defs/', '#/components/schemas/')) as Json & { $defs?: Json };
  for (const [name, definition] of Object.entries($defs)) keep(components, name, definition as Json);
  if (typeof id !== 'string') return rest;
  keep(components, id, rest);
  return { $ref: `#/components/schemas/${id}` };
}

/** @throws Error when one name would mean two things. */
function keep({ schemas }: Components, name: string, { id: _, ...schema }: Json): void {
  const known = schemas[name];
  if (known !== undefined && JSON.stringify(known) !== JSON.stringify(schema))
    throw new Error(`Two schemas are called ${name}`);
  schemas[name] = schema;
}

const FRAMES_PATH = '/api/v1/workers/{worker_id}/frames';

/** The frames endpoint is a transport, so it is described here and not by an operation. */
function describeFrames(types: readonly string[]): Json {
  return {
    operationId: 'workers.frames',
    tags: ['workers'],
    summary: `Takes one frame of a worker: ${types.join(', ')}.`,
    'x-signalbox': 'own',
    'x-agentops-audience': 'worker',
    parameters: [{ name: 'worker_id', in: 'path', required: true, schema: { type: 'string' } }],
    requestBody: { required: true, ...json(FRAME_SCHEMA) },
    responses: {
      200: { description: 'The answer to a frame that needs a reply', ...json(FRAME_SCHEMA) },
      202: { description: 'Taken' },
      401: {
        description: 'auth.missing, auth.invalid, auth.expired, auth.revoked',
        ...json({ $ref: '#/components/schemas/Fault' }),
      },
      422: { description: 'input.invalid', ...json({ $ref: '#/components/schemas/HTTPValidationError' }) },
    },
    security: [{ workerToken: [] }],
  };
}

const FRAME_SCHEMA: Json = {
  type: 'object',
  required: ['id', 'type', 'payload'],
  properties: {
    id: { type: 'string' },
    type: { type: 'string' },
    payload: { type: 'object', additionalProperties: true },
    needsReply: { type: ['boolean', 'null'] },
    correlationId: { type: ['string', 'null'] },
    stream: { type: ['string', 'null'] },
    seq: { type: ['integer', 'null'] },
    end: { type: ['boolean', 'null'] },
    headers: { type: ['object', 'null'], additionalProperties: true },
  },
};

const IDEMPOTENCY_KEY: Json = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  schema: { anyOf: [{ type: 'string' }, { type: 'null' }] },
};

const FAULT_SCHEMA: Json = {
  type: 'object',
  required: ['detail', 'code', 'request_id'],
  properties: { detail: { type: 'string' }, code: { type: 'string' }, request_id: { type: 'string' } },
};

const VALIDATION_SCHEMA: Json = {
  type: 'object',
  required: ['detail', 'code', 'request_id'],
  properties: {
    detail: {
      type: 'array',
      items: {
        type: 'object',
        required: ['loc', 'msg', 'type'],
        properties: {
          loc: { type: 'array', items: { anyOf: [{ type: 'string' }, { type: 'integer' }] } },
          msg: { type: 'string' },
          type: { type: 'string' },
        },
      },
    },
    code: { type: 'string' },
    request_id: { type: 'string' },
  },
};
