import { z } from 'zod';

export type JsonObject = Record<string, unknown>;

/**
 * Any JSON object, handed on as it is. A zod record would copy it and leave `__proto__` out, which is an ordinary key of
 * free JSON.
 */
export function freeObject(): z.ZodType<JsonObject, JsonObject> {
  const schema = z
    .unknown()
    .check((context) => {
      if (!isJsonObject(context.value)) {
        context.issues.push({ code: 'invalid_type', expected: 'object', input: context.value });
      }
    })
    .meta({ type: 'object', additionalProperties: true });
  return schema as unknown as z.ZodType<JsonObject, JsonObject>;
}

/** Any JSON value, handed on as it is. Absence is not a value: a field that may be left out says so itself. */
export function anyJson(): z.ZodType<unknown, unknown> {
  return z.unknown().check((context) => {
    if (context.value === undefined)
      context.issues.push({ code: 'invalid_type', expected: 'unknown', input: undefined });
  });
}

/** Whether a JSON value is an object: not a list, not null. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
