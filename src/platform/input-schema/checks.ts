import { hash } from 'node:crypto';
import type { InputProblem } from '../json/problems.ts';
import { compileInputSchema, type Compiled } from './compile.ts';
import { partsOfInput, partsOfPlainSchema } from './plain.ts';
import { Recent } from './recent.ts';
import { InputChecksBusy, InputCheckThreads, type ThreadAnswer } from './threads.ts';

export { InputChecksBusy } from './threads.ts';

export interface InputSchemaOptions {
  /** How long one check may take. */
  readonly checkMs: number;
  /** How many threads check what is not plain; they start when they are needed. */
  readonly workers?: number;
}

/** A schema larger than this is kept and shown, but checks nothing. */
export const INPUT_SCHEMA_LIMIT = 256 * 1024;

/** A queue that stands for ten checks which all run into their limit is not worth waiting for. */
const WAIT_CHECKS = 10;
const MIN_WAIT_MS = 5_000;
const KNOWN_SCHEMAS = 256;
/** Parts of the schema times parts of the input: some 10 ms at most on the event loop. */
const MAX_STEPS = 30_000;

/** What is known about a schema. `plain`: it may be checked on the event loop. */
type Known =
  | { readonly kind: 'unusable'; readonly error: string }
  | { readonly kind: 'plain'; readonly parts: number; readonly check: (input: unknown) => InputProblem[] }
  | { readonly kind: 'threaded' };

interface Schema {
  readonly key: string;
  readonly text: string;
  readonly known: Known;
}

/**
 * Checks inputs against the schemas that agents declare. A schema comes from whoever runs a worker, so it is trusted
 * with nothing: what it costs is bounded in time, it sees no other schema, and nothing is fetched for it. One that cannot
 * be used checks nothing; `describe` says why.
 */
export class InputSchemas {
  private readonly options: InputSchemaOptions;
  private readonly threads: InputCheckThreads;
  private readonly known = new Recent<Known>(KNOWN_SCHEMAS);

  constructor(options: InputSchemaOptions) {
    const { checkMs, workers = 2 } = options;
    const waitMs = Math.max(MIN_WAIT_MS, WAIT_CHECKS * checkMs);
    this.options = options;
    this.threads = new InputCheckThreads({ threads: workers, checkMs, waitMs });
  }

  /** Why a schema checks nothing: the agent's `input_schema_error`; null if it can be used, as far as is known. */
  async describe(schema: unknown): Promise<string | null> {
    const found = this.find(schema);
    if (!found || found.known.kind === 'plain') return null;
    if (found.known.kind === 'unusable') return found.known.error;
    try {
      return this.learn(
        found,
        await this.threads.run({ key: found.key, schemaText: found.text, inputText: undefined }),
      );
    } catch (error) {
      if (error instanceof InputChecksBusy) return null;
      throw error;
    }
  }

  /** What of an input does not fit: empty if all does. Throws InputChecksBusy if no thread came free in time. */
  async check(schema: unknown, input: unknown): Promise<readonly InputProblem[]> {
    const found = this.find(schema);
    if (!found || found.known.kind === 'unusable') return [];
    if (found.known.kind === 'plain') {
      const limit = MAX_STEPS / found.known.parts;
      if (partsOfInput(input, limit) < limit) return found.known.check(input);
    }
    const inputText = JSON.stringify(input) ?? 'null';
    const answer = await this.threads.run({ key: found.key, schemaText: found.text, inputText });
    if (answer.kind === 'checked') return answer.problems;
    if ('step' in answer && answer.step === 'check') return [this.problemOf(answer.kind)];
    this.learn(found, answer);
    return [];
  }

  /** Ends the threads. */
  close(): Promise<void> {
    return this.threads.close();
  }

  /** Undefined for a schema that says nothing. */
  private find(schema: unknown): Schema | undefined {
    if (schema === null || schema === undefined || isEmptyObject(schema)) return undefined;
    const text = textOf(schema);
    const key = hash('sha256', text);
    const known = this.known.get(key) ?? judge(schema, text);
    this.known.set(key, known);
    return { key, text, known };
  }

  /** Remembers that a schema cannot be used, if so. Answers its error. */
  private learn(schema: Schema, answer: ThreadAnswer): string | null {
    const error = errorOf(answer);
    if (error !== null) this.known.set(schema.key, { kind: 'unusable', error });
    return error;
  }

  private problemOf(kind: 'overdue' | 'lost'): InputProblem {
    const loc = ['body', 'input'];
    if (kind === 'lost')
      return { loc, msg: 'The check against the schema took too much memory', type: 'schema_check_failed' };
    const msg = `The check against the schema took longer than ${this.options.checkMs} ms`;
    return { loc, msg, type: 'schema_check_overdue' };
  }
}

/** What can be known about a schema without a thread. */
function judge(schema: unknown, text: string): Known {
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema))
    return unusable('The schema is not an object');
  if (text === '') return unusable('The schema is nested too deep');
  const bytes = Buffer.byteLength(text);
  if (bytes > INPUT_SCHEMA_LIMIT) return unusable(`The schema has ${bytes} bytes; the limit is ${INPUT_SCHEMA_LIMIT}`);
  const parts = partsOfPlainSchema(schema);
  if (parts === undefined) return { kind: 'threaded' };
  const compiled: Compiled = compileInputSchema(schema);
  return 'error' in compiled ? unusable(compiled.error) : { kind: 'plain', parts, check: compiled.check };
}

function unusable(error: string): Known {
  return { kind: 'unusable', error };
}

function errorOf(answer: ThreadAnswer): string | null {
  if (answer.kind === 'unusable') return answer.error;
  if (answer.kind === 'overdue') return 'The schema takes too long to compile';
  return answer.kind === 'lost' ? 'The schema needs too much memory to compile' : null;
}

/** Empty where JSON.stringify cannot write it, which is some thousands of levels down. */
function textOf(schema: unknown): string {
  try {
    return JSON.stringify(schema) ?? '';
  } catch (error) {
    if (error instanceof RangeError) return '';
    throw error;
  }
}

function isEmptyObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length === 0;
}
