import { Ajv, type ErrorObject, type Options, type ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import type { InputProblem } from '../json/problems.ts';

/** A JSON Schema that can be used, or the reason why it cannot. */
export type Compiled = { readonly check: (input: unknown) => InputProblem[] } | { readonly error: string };

/** A caller learns what does not fit from some problems as well as from all. */
const MAX_PROBLEMS = 20;
/** Messages may quote names and values out of the schema, which may be long. */
const MAX_MESSAGE_LENGTH = 300;

const DIALECTS = {
  'https://json-schema.org/draft/2020-12/schema': Ajv2020,
  'http://json-schema.org/draft-07/schema': Ajv,
} as const;
type Dialect = keyof typeof DIALECTS;
const DEFAULT_DIALECT: Dialect = 'https://json-schema.org/draft/2020-12/schema';

const OPTIONS: Options = {
  strict: false,
  logger: false,
  /** An input without `constructor` lacks it, whatever Object.prototype has. */
  ownProperties: true,
  /** Not only for the caller's sake: code that stops at the first error is nested once a property, and overflows the stack. */
  allErrors: true,
  /** Compiling takes half as long, and the engine optimizes by itself. */
  code: { optimize: false },
};

/** What checks schemas themselves is the same for all of them, and takes 40 ms to make. */
const metaValidators = new Map<Dialect, Ajv>();

/**
 * Compiles an untrusted schema. Each has a validator of its own: in a shared one, a schema's `$id` could be referred to
 * by the next account's schema. Nothing is ever fetched, so a reference to elsewhere does not compile.
 */
export function compileInputSchema(schema: object): Compiled {
  try {
    const dialect = dialectOf(schema);
    if (!dialect)
      return { error: 'The schema is written for a version of JSON Schema that is neither 2020-12 nor draft-07' };
    if ('$async' in schema) return { error: 'The schema says $async, which is not JSON Schema' };
    const meta = metaValidatorOf(dialect);
    if (!meta.validate(dialect, schema)) return { error: cut(`The schema is not JSON Schema: ${firstError(meta)}`) };
    const validator = new DIALECTS[dialect]({ ...OPTIONS, meta: false, validateSchema: false });
    formats.default(validator);
    const validate = validator.compile(schema);
    return { check: (input) => problemsOf(validate, input) };
  } catch (error) {
    return { error: cut(reasonOf(error)) };
  }
}

function dialectOf(schema: object): Dialect | undefined {
  const named: unknown = Object.getOwnPropertyDescriptor(schema, '$schema')?.value;
  if (named === undefined) return DEFAULT_DIALECT;
  const name = String(named).replace(/#$/, '');
  return Object.hasOwn(DIALECTS, name) ? (name as Dialect) : undefined;
}

function metaValidatorOf(dialect: Dialect): Ajv {
  const known = metaValidators.get(dialect);
  if (known) return known;
  const made = new DIALECTS[dialect](OPTIONS);
  metaValidators.set(dialect, made);
  return made;
}

function firstError(validator: Ajv): string {
  const error = validator.errors?.[0];
  return error ? `${error.instancePath || 'it'} ${error.message ?? error.keyword}` : 'it does not fit the definition';
}

function reasonOf(error: unknown): string {
  if (error instanceof Ajv.MissingRefError) {
    return `The schema refers to ${error.missingRef}, which it does not hold; nothing is fetched`;
  }
  if (error instanceof RangeError) return 'The schema is nested too deep, or refers to itself without end';
  return `The schema does not compile: ${error instanceof Error ? error.message : String(error)}`;
}

function problemsOf(validate: ValidateFunction, input: unknown): InputProblem[] {
  try {
    if (validate(input)) return [];
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    const msg = 'The schema refers to itself without end';
    return [{ loc: ['body', 'input'], msg, type: 'schema_check_failed' }];
  }
  return (validate.errors ?? []).slice(0, MAX_PROBLEMS).map((error) => problemOf(error, input));
}

function problemOf(error: ErrorObject, input: unknown): InputProblem {
  const params = error.params as Readonly<Record<string, unknown>>;
  const name = params['missingProperty'] ?? params['additionalProperty'] ?? params['unevaluatedProperty'];
  const loc = ['body', 'input', ...placeOf(error.instancePath, input)];
  if (typeof name === 'string') loc.push(name);
  const allowed = Array.isArray(params['allowedValues']) ? `: ${JSON.stringify(params['allowedValues'])}` : '';
  return { loc, msg: cut(`${error.message ?? error.keyword}${allowed}`), type: `schema_${error.keyword}` };
}

/** A JSON pointer as keys and positions: only the input tells whether `0` is one or the other. */
function placeOf(pointer: string, input: unknown): (string | number)[] {
  let value = input;
  const steps = pointer.split('/').slice(1);
  return steps.map((step) => {
    const key = step.replaceAll('~1', '/').replaceAll('~0', '~');
    const place = Array.isArray(value) ? Number(key) : key;
    value = (value as Readonly<Record<string | number, unknown>> | undefined)?.[place];
    return place;
  });
}

function cut(message: string): string {
  return message.length > MAX_MESSAGE_LENGTH ? `${message.slice(0, MAX_MESSAGE_LENGTH).toWellFormed()}…` : message;
}
