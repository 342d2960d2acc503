/** A JSON object whose members are not known. */
export type JsonObject = Record<string, unknown>;

/** Whether a value read from JSON is an object, and neither null nor a list. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A copy without the members whose value is undefined: the wire leaves out what was not said. */
export function present(object: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined));
}
