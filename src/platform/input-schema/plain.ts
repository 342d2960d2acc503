/**
 * Which schemas may be checked on the event loop. A schema that anyone may register must not decide how long everyone
 * waits: a pattern can back-track for ever, two references to itself double the work at each level of the input, unique
 * items are compared each with each. Plain is what is built only of keywords whose work is at most (parts of the schema)
 * x (parts of the input); everything else, every unknown keyword among it, goes to a thread that can be ended.
 */

type Json = Readonly<Record<string, unknown>>;

/** Beyond that, compiling takes longer than other requests should wait (0.05 to 0.3 ms a part). */
const MAX_PARTS = 100;
const MAX_DEPTH = 32;

/** Annotations and keywords of constant cost. */
const SIMPLE = new Set(
  [
    '$schema $comment title description default examples deprecated readOnly writeOnly nullable type const',
    'minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength minItems maxItems',
    'minProperties maxProperties',
  ].flatMap((line) => line.split(' ')),
);
const WITH_SCHEMA = new Set(['additionalProperties', 'items', 'not', 'if', 'then', 'else', 'propertyNames']);
const WITH_LIST_OF_SCHEMAS = new Set(['anyOf', 'oneOf', 'allOf', 'prefixItems', 'items']);
const WITH_MAP_OF_SCHEMAS = new Set(['properties', '$defs', 'definitions']);
const WITH_LIST_OF_VALUES = new Set(['required', 'enum']);
/** Formats that are code or an expression which reads each character at most a few times. */
const LINEAR_FORMATS = new Set(
  'date time date-time iso-time iso-date-time uuid ipv4 int32 int64 float double password binary'.split(' '),
);

/** How many parts a plain schema has, references followed; undefined if it is not plain. */
export function partsOfPlainSchema(schema: object): number | undefined {
  const count = { left: MAX_PARTS, root: schema as Json };
  return isPlain(schema, count, 0) ? MAX_PARTS - count.left : undefined;
}

interface Count {
  left: number;
  readonly root: Json;
}

function isPlain(schema: unknown, count: Count, depth: number): boolean {
  count.left -= 1;
  if (count.left < 0 || depth > MAX_DEPTH) return false;
  if (typeof schema === 'boolean') return true;
  if (!isObject(schema)) return false;
  return Object.entries(schema).every(([keyword, value]) => isPlainKeyword(keyword, value, count, depth + 1));
}

function isPlainKeyword(keyword: string, value: unknown, count: Count, depth: number): boolean {
  const isPlainPart = (part: unknown) => isPlain(part, count, depth);
  if (keyword === 'const') return !isContainer(value);
  if (SIMPLE.has(keyword)) return true;
  if (keyword === 'format') return typeof value === 'string' && LINEAR_FORMATS.has(value);
  if (keyword === '$ref') return isPlainPart(targetOf(value, count.root));
  if (WITH_LIST_OF_VALUES.has(keyword)) return isShortList(value, count);
  if (WITH_MAP_OF_SCHEMAS.has(keyword)) return isObject(value) && Object.values(value).every(isPlainPart);
  if (WITH_LIST_OF_SCHEMAS.has(keyword) && Array.isArray(value)) return value.every(isPlainPart);
  return WITH_SCHEMA.has(keyword) && isPlainPart(value);
}

/** Each value is one more comparison; comparing objects is not counted, so there may be none. */
function isShortList(values: unknown, count: Count): boolean {
  if (!Array.isArray(values) || values.some(isContainer)) return false;
  count.left -= values.length;
  return count.left >= 0;
}

/** What a reference like `#/$defs/Address` means; undefined, which is not plain, if it is of another kind. */
function targetOf(reference: unknown, root: Json): unknown {
  const [, kind, name] = /^#\/(\$defs|definitions)\/([\w.-]+)$/.exec(String(reference)) ?? [];
  if (kind === undefined || name === undefined) return undefined;
  const definitions = root[kind];
  return isObject(definitions) && Object.hasOwn(definitions, name) ? definitions[name] : undefined;
}

/** Characters that cost as much as one part of the input. */
const CHARACTERS_PER_PART = 8;

/** How many parts an input has, long texts counted by their length; stops counting at the limit. */
export function partsOfInput(input: unknown, limit: number): number {
  let parts = 0;
  const waiting: unknown[] = [input];
  while (waiting.length > 0 && parts < limit) {
    const value = waiting.pop();
    parts += 1;
    if (typeof value === 'string') parts += value.length / CHARACTERS_PER_PART;
    else if (Array.isArray(value)) parts += addAll(waiting, value, limit);
    else if (isObject(value)) {
      for (const key of Object.keys(value)) parts += key.length / CHARACTERS_PER_PART;
      parts += addAll(waiting, Object.values(value), limit);
    }
  }
  return parts;
}

/** Answers what the values weigh at least, where there are too many of them to be looked at. */
function addAll(waiting: unknown[], values: readonly unknown[], limit: number): number {
  if (values.length >= limit) return values.length;
  for (const value of values) waiting.push(value);
  return 0;
}

function isContainer(value: unknown): boolean {
  return typeof value === 'object' && value !== null;
}

function isObject(value: unknown): value is Json {
  return isContainer(value) && !Array.isArray(value);
}
