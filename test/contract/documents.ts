import fs from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { z } from 'zod';
import type { Operation } from '../../src/platform/operation/operation.ts';

type JsonObject = Readonly<Record<string, unknown>>;

/** An OpenAPI document, as far as the sweep looks into it. */
export interface ApiDocument {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>;
}

export interface Described {
  readonly operationId?: string;
  readonly 'x-signalbox'?: string;
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: JsonObject }>> };
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, { readonly schema: JsonObject }>> }>
  >;
}

/** What is wrong with a value, in words; nothing is wrong with an empty list. */
export type Judge = (value: unknown) => readonly string[];

/** The contract that public clients know. */
export const CONTRACT = JSON.parse(fs.readFileSync(new URL('openapi.json', import.meta.url), 'utf8')) as ApiDocument;

const METHODS = new Set(['get', 'post', 'put', 'patch', 'delete']);

/** `METHOD /path` of every operation of a document, with what it says. */
export function operationsOf({ paths }: ApiDocument): ReadonlyMap<string, Described> {
  const found = Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).flatMap(([method, described]): [string, Described][] =>
      METHODS.has(method) ? [[`${method.toUpperCase()} ${path}`, described]] : [],
    ),
  );
  return new Map(found);
}

/** The names of parameters do not matter, their places do. */
export function shapeOf(key: string): string {
  return key.replaceAll(/\{\w+\}/g, '{}');
}

const CONTRACT_SHAPES = new Set([...operationsOf(CONTRACT).keys()].map(shapeOf));

/** Whether public clients know the operation, by its `METHOD /path`. */
export function isInContract(key: string): boolean {
  return CONTRACT_SHAPES.has(shapeOf(key));
}

/** Judges answers and bodies by a document's own schemas, with a validator that is not ours. */
export class DocumentJudge {
  private readonly ajv = new Ajv2020({ strict: false, allErrors: true });
  private readonly operations = new Map<string, readonly [pointer: string, described: Described]>();

  constructor(document: ApiDocument) {
    formats.default(this.ajv);
    this.ajv.addSchema({ ...document, $id: 'document' });
    for (const [key, described] of operationsOf(document)) {
      const [method = '', path = ''] = key.split(' ');
      this.operations.set(shapeOf(key), [
        `#/paths/${path.replaceAll('~', '~0').replaceAll('/', '~1')}/${method.toLowerCase()}`,
        described,
      ]);
    }
  }

  /** For the JSON answer of an operation; undefined where the document promises none. */
  ofAnswer(key: string, status: number): Judge | undefined {
    const [pointer, described] = this.operations.get(shapeOf(key)) ?? [];
    if (!described?.responses[status]?.content?.['application/json']) return undefined;
    return this.judge({ $ref: `document${pointer}/responses/${status}/content/application~1json/schema` });
  }

  /** For the JSON body of an operation; undefined where it takes none. */
  ofBody(key: string): Judge | undefined {
    const [pointer, described] = this.operations.get(shapeOf(key)) ?? [];
    if (!described?.requestBody) return undefined;
    return this.judge({ $ref: `document${pointer}/requestBody/content/application~1json/schema` });
  }

  private judge(schema: JsonObject): Judge {
    const validate = this.ajv.compile(schema);
    return (value) =>
      validate(value)
        ? []
        : (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath || '/'} ${message}`);
  }
}

/** For the payload of a frame, which the served document describes in words only. */
export function judgeOfPayload(op: Operation): Judge | undefined {
  if (!op.input.body) return undefined;
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  formats.default(ajv);
  const validate = ajv.compile(z.toJSONSchema(op.input.body, { io: 'input', unrepresentable: 'any' }));
  return (value) =>
    validate(value)
      ? []
      : (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath || '/'} ${message}`);
}
