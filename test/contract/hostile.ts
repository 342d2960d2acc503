import { z } from 'zod';
import type { Operation } from '../../src/platform/operation/operation.ts';
import type { Judge } from './documents.ts';

type JsonObject = Readonly<Record<string, unknown>>;

/** A body that is written by hand, because no serializer would write it, and where it is wrong. */
export interface HostileBody {
  readonly what: string;
  readonly body: string;
  /** The field that is wrong; undefined for the body as a whole. */
  readonly field?: string;
  /** The field is itself a number: not a value inside of evidence, but what the caller says about it. */
  readonly isCount?: true;
}

/** Texts that are no JSON. */
export const NOT_JSON = [
  '{"a":',
  'nope',
  '{"a":1}x',
  '\u0000',
  "{'a':1}",
  '{"a":01}',
  '[1,]',
  'NaN',
  '{"a":1,}',
  '"\n"',
  '{"a" 1}',
  '\ufeff{}x',
];

const KINDS: readonly unknown[] = [42, 1.5, -1, 'text', true, [], [[]], {}, { a: 1 }, { a: 'text' }, null];
const NUL = '\\u0000';
const LONE_SURROGATE = '\\ud800';
/** A double holds its neighbour instead. */
const INEXACT = '9007199254740993';
const LEVELS = 200;
const HUGE = 1_500_000;

/** The fields of an operation's body, by its declaration; none where the body is no object. */
export function fieldsOf({ input }: Operation): readonly string[] {
  if (!input.body) return [];
  const schema = z.toJSONSchema(input.body, { io: 'input', unrepresentable: 'any' }) as JsonObject;
  return Object.keys(propertiesIn(schema, (schema['$defs'] ?? {}) as JsonObject));
}

function propertiesIn(schema: JsonObject, parts: JsonObject): JsonObject {
  const { $ref, properties, anyOf } = schema as {
    readonly $ref?: string;
    readonly properties?: JsonObject;
    readonly anyOf?: readonly JsonObject[];
  };
  if (properties) return properties;
  if ($ref) return propertiesIn(parts[$ref.replace('#/$defs/', '')] as JsonObject, parts);
  return Object.assign({}, ...(anyOf ?? []).map((one) => propertiesIn(one, parts))) as JsonObject;
}

/** Every field with a value of every kind that its document does not allow there. */
export function wrongKinds(valid: JsonObject, fields: readonly string[], judge: Judge): HostileBody[] {
  return fields.flatMap((field) =>
    KINDS.filter((value) => judge({ ...valid, [field]: value }).length > 0).map((value) => ({
      what: `${field} = ${JSON.stringify(value)}`,
      body: JSON.stringify({ ...valid, [field]: value }),
      field,
    })),
  );
}

/** Every field with a value of every kind that its document allows there: these are acceptable, and must end well. */
export function otherKinds(valid: JsonObject, fields: readonly string[], judge: Judge): HostileBody[] {
  return fields.flatMap((field) =>
    KINDS.filter((value) => judge({ ...valid, [field]: value }).length === 0).map((value) => ({
      what: `${field} = ${JSON.stringify(value)}`,
      body: JSON.stringify({ ...valid, [field]: value }),
      field,
    })),
  );
}

/** What cannot be kept as it was sent, in every field that takes its kind. */
export function unstorable(valid: JsonObject, fields: readonly string[], judge: Judge): HostileBody[] {
  const takes = (field: string, value: unknown): boolean => judge({ ...valid, [field]: value }).length === 0;
  return fields.flatMap((field) => {
    const isCount = takes(field, 7) && !takes(field, 'text');
    const bodies: [what: string, json: string][] = [];
    if (takes(field, 'text')) bodies.push(['NUL', `"a${NUL}b"`], ['half a surrogate pair', `"${LONE_SURROGATE}"`]);
    if (takes(field, ['text'])) bodies.push(['NUL in a list', `["a${NUL}"]`]);
    if (isCount) bodies.push(['an inexact number', INEXACT], ['a number out of range', '1e400']);
    if (takes(field, { a: 1 })) {
      bodies.push(['NUL in a name', `{"a${NUL}":1}`], ['half a surrogate pair in a name', `{"${LONE_SURROGATE}":1}`]);
      bodies.push(
        ['half a surrogate pair inside', `{"a":[{"b":"${LONE_SURROGATE}x"}]}`],
        ['a number out of range inside', '{"a":-1e999}'],
      );
      bodies.push([`${LEVELS} levels`, nested(LEVELS)]);
    }
    return bodies.map(([what, json]) => ({
      what: `${field}: ${what}`,
      body: withField(valid, field, json),
      field,
      ...(isCount ? { isCount } : {}),
    }));
  });
}

/** What may or may not be acceptable, but must neither break the process nor change it. */
export function heavy(valid: JsonObject, fields: readonly string[], judge: Judge): HostileBody[] {
  const prototype = '{"polluted":true}';
  const texts = fields.filter((field) => judge({ ...valid, [field]: 'text' }).length === 0);
  const objects = fields.filter((field) => judge({ ...valid, [field]: { a: 1 } }).length === 0);
  return [
    {
      what: '__proto__ and constructor',
      body: withField(valid, '__proto__', `${prototype},"constructor":{"prototype":${prototype}}`),
    },
    { what: 'a name of a huge index', body: withField(valid, 'x.999999999.y', '1') },
    ...texts.map((field) => ({
      what: `${field}: a huge text`,
      body: withField(valid, field, `"${'x'.repeat(HUGE)}"`),
      field,
    })),
    ...objects.map((field) => ({
      what: `${field}: a prototype`,
      body: withField(valid, field, `{"__proto__":${prototype},"constructor":${prototype}}`),
      field,
    })),
  ];
}

/** A body that is too deep at a place where nobody looks. */
export function tooDeep(valid: JsonObject): HostileBody {
  return { what: `${LEVELS} levels in an unknown field`, body: withField(valid, 'unknown_to_all', nested(LEVELS)) };
}

function nested(levels: number): string {
  return '{"n":'.repeat(levels) + '1' + '}'.repeat(levels);
}

/** The valid body with one field written by hand. */
function withField(valid: JsonObject, field: string, json: string): string {
  const { [field]: _, ...others } = valid;
  const rest = JSON.stringify(others).slice(1);
  return `{${JSON.stringify(field)}:${json}${rest === '}' ? '' : ','}${rest}`;
}
