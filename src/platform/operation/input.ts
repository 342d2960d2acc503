import { z } from 'zod';
import type { InputProblem } from '../json/problems.ts';

/** What an operation reads from where. Header names are lower case. */
export interface InputParts {
  readonly path?: z.ZodObject;
  readonly query?: z.ZodObject;
  readonly headers?: z.ZodObject;
  readonly body?: z.ZodType;
}

export const PARTS = ['body', 'query', 'headers', 'path'] as const;

/** A call's input as its transport found it. */
export type RawInput = { readonly [Part in (typeof PARTS)[number]]?: unknown };

/** Any operation's input, once its own schemas have parsed it. */
export type OperationInput = Record<string, unknown>;

type FieldsOf<Part> = Part extends z.ZodObject ? z.output<Part> : unknown;
/** The fields of an object body, all of them optional if the body is; any other body is one field, `body`. */
type BodyFields<Body> = Body extends z.ZodObject
  ? z.output<Body>
  : Body extends z.ZodOptional<infer Inner> | z.ZodNullable<infer Inner>
    ? Partial<BodyFields<Inner>>
    : Body extends z.ZodType
      ? { readonly body: z.output<Body> }
      : unknown;
type Part<Parts, Name extends string> = Parts extends { readonly [Key in Name]: infer Schema } ? Schema : undefined;

/** The parts as one flat object: what a service gets. */
export type FlatInput<Parts extends InputParts> = InputParts extends Parts
  ? OperationInput
  : FieldsOf<Part<Parts, 'path'>> &
      FieldsOf<Part<Parts, 'query'>> &
      FieldsOf<Part<Parts, 'headers'>> &
      BodyFields<Part<Parts, 'body'>>;

export type Parsed = { readonly input: OperationInput } | { readonly problems: readonly InputProblem[] };

/** Parses every part and joins them. The path wins over the rest, so a body cannot talk about another row than the route. */
export function parseParts(parts: InputParts, raw: RawInput): Parsed {
  const input: OperationInput = {};
  const problems: InputProblem[] = [];
  for (const name of PARTS) {
    const schema = parts[name];
    if (name !== 'body') problems.push(...nulProblems(name, raw[name]));
    if (!schema) continue;
    const result = schema.safeParse(
      name === 'query' ? withLists(parts.query, raw.query) : name === 'body' ? raw.body : (raw[name] ?? {}),
    );
    if (result.success) Object.assign(input, fieldsOf(schema, result.data));
    else problems.push(...result.error.issues.map((issue) => problemAt(name, issue)));
  }
  return problems.length > 0 ? { problems: problems.sort(byPart) } : { input };
}

/** NUL gets into an address as %00, and no text of ours holds it. In a body its parser looks. */
function nulProblems(part: string, values: unknown): InputProblem[] {
  return Object.entries((values ?? {}) as Readonly<Record<string, unknown>>)
    .filter(([, value]) => [value].flat().some((text) => typeof text === 'string' && text.includes('\0')))
    .map(([name]) => ({ loc: [part, name], msg: 'Text must not hold NUL', type: 'text_nul' }));
}

function fieldsOf(schema: z.ZodType, value: unknown): object {
  if (schema instanceof z.ZodObject) return value as object;
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable) {
    return value === undefined || value === null ? {} : fieldsOf(schema.unwrap() as z.ZodType, value);
  }
  return { body: value };
}

/** `?tag=a` is a list of one where the schema wants a list. */
function withLists(schema: z.ZodObject | undefined, query: unknown): unknown {
  const fields = { ...(query as OperationInput | undefined) };
  for (const [name, value] of Object.entries(fields))
    if (typeof value === 'string' && wantsList(schema?.shape[name])) fields[name] = [value];
  return fields;
}

function wantsList(schema: unknown): boolean {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault) return wantsList(schema.unwrap());
  return schema instanceof z.ZodArray;
}

function problemAt(part: string, issue: z.core.$ZodIssue): InputProblem {
  const loc = issue.path.map((key) => (typeof key === 'number' ? key : String(key)));
  return { loc: [part, ...loc], msg: issue.message, type: issue.code };
}

const READING_ORDER = ['path', 'query', 'headers', 'body'];

function byPart(a: InputProblem, b: InputProblem): number {
  return READING_ORDER.indexOf(String(a.loc[0])) - READING_ORDER.indexOf(String(b.loc[0]));
}
