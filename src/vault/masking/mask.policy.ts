import { DeepJson, type JsonObject } from '../../platform/json/json.ts';
import { REDACTED } from './forms.policy.ts';
import { replaced, type Matcher, type Range } from './matcher.policy.ts';

/** How often something was masked, by the field in which it stood. */
export type Masked = Readonly<Record<string, number>>;

/** Our own bearer secrets by their shape, whoever they belong to. */
const BEARER = /(?<![A-Za-z0-9])(?:sk|swt|srt)_[\w-]{43}(?![\w-])/g;
const BEARER_LENGTH = 46;

/** Which rules hold for a part of a document. */
interface Rules {
  /** Short values count. Not where a protocol says which words may stand there. */
  readonly hasWords: boolean;
  /** Numbers may be values. Not where they count something. */
  readonly hasNumbers: boolean;
}
interface Field {
  /** What it is counted as. */
  readonly field: string;
  readonly rules: Rules;
  /** The name is one of ours, whatever values look like. */
  readonly isKnown?: true;
}
const FREE: Rules = { hasWords: true, hasNumbers: true };
const PROTOCOL: Rules = { hasWords: false, hasNumbers: false };

/** Fields of an event whose words or numbers have a meaning of their own. */
const PROTOCOL_FIELDS = new Set(
  `event_type event_id event_sequence timestamp source level role message_type status kind trace_id span_id parent_span_id child_run_id hook_event_type usage`.split(
    ' ',
  ),
);
/** The other fields that an event has. What a worker adds beside them counts as `other`: it may call it whatever it likes. */
const FREE_FIELDS = new Set(`logger content name payload metadata`.split(' '));
function fieldOfEvent(key: string): Field {
  if (PROTOCOL_FIELDS.has(key)) return { field: key, rules: PROTOCOL, isKnown: true };
  if (FREE_FIELDS.has(key)) return { field: key, rules: FREE, isKnown: true };
  return { field: 'other', rules: FREE };
}
/** Counts of tokens, wherever they stand. */
const COUNTS = /^(?:usage|call_usage|.*tokens)$/;

/** Masks one document: changes it in place, and counts. */
export class Masking {
  private readonly counts = new Map<string, number>();
  private readonly matcher: Matcher;

  constructor(matcher: Matcher) {
    this.matcher = matcher;
  }

  /** Undefined where nothing was masked. */
  get masked(): Masked | undefined {
    return this.counts.size === 0 ? undefined : Object.fromEntries(this.counts);
  }

  get total(): number {
    let total = 0;
    for (const count of this.counts.values()) total += count;
    return total;
  }

  text(text: string, field: string): string {
    return this.inText(text, field, FREE);
  }

  /** A JSON value under a name of ours: an output, a diagnosis. */
  value<Value>(value: Value, field: string): Value {
    return this.inValue(value, field, FREE) as Value;
  }

  event(event: JsonObject): JsonObject {
    return this.inObject(event, fieldOfEvent);
  }

  private inValue(value: unknown, field: string, rules: Rules): unknown {
    if (typeof value === 'string') return this.inText(value, field, rules);
    if (typeof value === 'number') return this.inNumber(value, field, rules);
    if (typeof value !== 'object' || value === null) return value;
    if (value instanceof DeepJson) return this.inText(value.text, field, rules) === value.text ? value : REDACTED;
    if (Array.isArray(value)) {
      for (const [index, item] of value.entries()) {
        const masked = this.inValue(item, field, rules);
        if (masked !== item) value[index] = masked;
      }
      return value;
    }
    return this.inObject(value as JsonObject, (key) => ({ field, rules: COUNTS.test(key) ? PROTOCOL : rules }));
  }

  /** Keys are texts, too. The object is made again where one of them changes, so that the others stay in their order. */
  private inObject(object: JsonObject, fieldOf: (key: string) => Field): JsonObject {
    let renamed: Map<string, string> | undefined;
    for (const key of Object.keys(object)) {
      const { field, rules, isKnown } = fieldOf(key);
      const before = object[key];
      const after = this.inValue(before, field, rules);
      if (after !== before) object[key] = after; // an own key, so `__proto__` is set like any other
      const name = isKnown ? key : this.inText(key, field, rules);
      if (name !== key) (renamed ??= new Map<string, string>()).set(key, name);
    }
    return renamed ? withNames(object, renamed) : object;
  }

  private inText(text: string, field: string, { hasWords }: Rules): string {
    const { ranges } = this.matcher.scan(text, hasWords);
    return this.inRanges(text, ranges, field);
  }

  /** Masks what was found, and what has the shape of a bearer secret. */
  inRanges(text: string, ranges: readonly Range[], field: string): string {
    if (ranges.length > 0) this.count(field, ranges.length);
    const masked = ranges.length > 0 ? replaced(text, ranges) : text;
    if (masked.length < BEARER_LENGTH) return masked;
    return masked.replace(BEARER, () => {
      this.count(field, 1);
      return REDACTED;
    });
  }

  private inNumber(value: number, field: string, { hasNumbers }: Rules): number | string {
    if (!hasNumbers || !this.matcher.values.has(String(value))) return value;
    this.count(field, 1);
    return REDACTED;
  }

  private count(field: string, times: number): void {
    this.counts.set(field, (this.counts.get(field) ?? 0) + times);
  }
}

/** Two keys that look alike now are told apart by a number, so that neither value is lost. */
function withNames(object: JsonObject, renamed: ReadonlyMap<string, string>): JsonObject {
  const taken = new Set(Object.keys(object).filter((key) => !renamed.has(key)));
  const entries = Object.entries(object).map(([key, value]) => {
    const wanted = renamed.get(key);
    if (wanted === undefined) return [key, value] as const;
    let name = wanted;
    for (let number = 2; taken.has(name); number += 1) name = `${wanted}_${number}`;
    taken.add(name);
    return [name, value] as const;
  });
  return Object.fromEntries(entries); // defines its keys, so `__proto__` is one of them
}
