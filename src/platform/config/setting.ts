import type { z } from 'zod';

/** One setting: an environment variable with its type, its default and a sentence about what it does. */
export interface Setting<Schema extends z.ZodType = z.ZodType> {
  readonly variable: string;
  readonly schema: Schema;
  /** As it would stand in the environment; undefined where there is none. */
  readonly fallback: string | undefined;
  readonly sentence: string;
  /** Never shown: neither in the log nor in an error. */
  readonly secret: boolean;
}

export function setting<Schema extends z.ZodType>(
  variable: string,
  schema: Schema,
  fallback: string | undefined,
  sentence: string,
): Setting<Schema> {
  return { variable, schema, fallback, sentence, secret: false };
}

export function secret<Schema extends z.ZodType>(variable: string, schema: Schema, sentence: string): Setting<Schema> {
  return { variable, schema, fallback: undefined, sentence, secret: true };
}
