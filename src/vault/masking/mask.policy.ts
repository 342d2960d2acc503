import { DeepJson, type JsonObject } from '../../platform/json/json.ts';
import { mayHoldBearer, withoutBearers } from './bearer.policy.ts';
import { REDACTED } from './forms.policy.ts';
import { replaced, type Matcher, type Range } from './matcher.policy.ts';

/** How often something was masked, by the field in which it stood. */
export type Masked = Readonly<Record<string, number>>;

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

/** Masks a document, and counts. What was given stays as it is; where nothing is masked the answer is the very same object. */
export class Masking {
  private readonly counts: Map<string, number>;
  private readonly matcher: Matcher;

  constructor(matcher: Matcher, before: Masked = {}) {
    this.matcher = matcher;
    this.counts = new Map(Object.entries(before));
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

  /** Whether a document, as JSON text, holds nothing to be masked: most do not, and this is cheaper than looking through them. */
  isClean(json: string): boolean {
    return (this.matcher.isEmpty || this.matcher.isClean(json)) && !mayHoldBearer(json);
  }

  /** Masks what was found elsewhere, and what has the shape of a bearer secret. */
  inRanges(text: string, ranges: readonly Range[], field: string): string {
    if (ranges.length > 0) this.count(field, ranges.length);
    const masked = ranges.length > 0 ? replaced(text, ranges) : text;
    return withoutBearers(masked, () => this.count(field, 1));
  }

  private inValue(value: unknown, field: string, rules: Rules): unknown {
    if (typeof value === 'string') return this.inText(value, field, rules);
    if (typeof value === 'number') return this.inNumber(value, field, rules);
    if (typeof value !== 'object' || value === null) return value;
    if (value instanceof DeepJson) return this.inText(value.text, field, rules) === value.text ? value : REDACTED;
    if (Array.isArray(value)) return this.inList(value, field, rules);
    return this.inObject(value as JsonObject, (key) => ({ field, rules: COUNTS.test(key) ? PROTOCOL : rules }));
  }

  private inList(list: readonly unknown[], field: string, rules: Rules): readonly unknown[] {
    let changed: unknown[] | undefined;
    for (const [index, item] of list.entries()) {
      const masked = this.inValue(item, field, rules);
      if (masked !== item) (changed ??= [...list])[index] = masked;
    }
    return changed ?? list;
  }

  /** Keys are texts, too. */
  private inObject(object: JsonObject, fieldOf: (key: string) => Field): JsonObject {
    const changed = new Map<string, readonly [name: string, value: unknown]>();
    for (const key of Object.keys(object)) {
      const { field, rules, isKnown } = fieldOf(key);
      const before = object[key];
      const value = this.inValue(before, field, rules);
      const name = isKnown ? key : this.inText(key, field, rules);
      if (value !== before || name !== key) changed.set(key, [name, value]);
    }
    return changed.size === 0 ? object : withChanges(object, changed);
  }

  private inText(text: string, field: string, { hasWords }: Rules): string {
    return this.inRanges(text, this.matcher.scan(text, hasWords).ranges, field);
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

/** In the order of before. Two keys that look alike now are told apart by a number, so that neither value is lost. */
function withChanges(
  object: JsonObject,
  changed: ReadonlyMap<string, readonly [name: string, value: unknown]>,
): JsonObject {
  const keys = Object.keys(object);
  const taken = new Set(keys.filter((key) => (changed.get(key)?.[0] ?? key) === key));
  const entries = keys.map((key) => {
    const [wanted, value] = changed.get(key) ?? [key, object[key]];
    if (wanted === key) return [key, value] as const;
    let name = wanted;
    for (let number = 2; taken.has(name); number += 1) name = `${wanted}_${number}`;
    taken.add(name);
    return [name, value] as const;
  });
  return Object.fromEntries(entries); // defines its keys, so `__proto__` is one of them
}
