import { hash } from 'node:crypto';
import { DeepJson } from './deep-json.ts';

interface Style {
  /** Which keys of an object are written, and in which order. */
  readonly keysOf: (record: Readonly<Record<string, unknown>>) => readonly string[];
  readonly writeNumber: (value: number) => string;
}

/** A list or object that is being written. */
interface Open {
  readonly values: readonly unknown[] | Readonly<Record<string, unknown>>;
  /** Absent for a list. */
  readonly keys: readonly string[] | undefined;
  readonly length: number;
  next: number;
}

const AS_STORED: Style = {
  keysOf: (record) => Object.keys(record).filter((key) => record[key] !== undefined),
  writeNumber: (value) => JSON.stringify(value),
};

const CANONICAL: Style = {
  // Without a comparator, sort() orders by UTF-16 code units, which is what RFC 8785 asks for.
  keysOf: (record) => [...AS_STORED.keysOf(record)].sort(),
  writeNumber: (value) => {
    if (!Number.isFinite(value)) throw new TypeError(`${value} has no canonical JSON form`);
    return JSON.stringify(value);
  },
};

/**
 * Writes a JSON value of any depth; JSON.stringify is faster but overflows the stack between 3,000 and 5,000 levels. What
 * was kept as text (DeepJson) is written as the JSON it is.
 */
export function writeJson(value: unknown): string {
  return write(value, AS_STORED);
}

/** The one text of a value by RFC 8785, to be hashed. What was kept as text (DeepJson) counts as it was sent. */
export function canonicalJson(value: unknown): string {
  return write(value, CANONICAL);
}

/** SHA-256 of the canonical text: 32 bytes. */
export function sha256OfCanonical(value: unknown): Buffer {
  return hash('sha256', canonicalJson(value), 'buffer');
}

function write(root: unknown, style: Style): string {
  const parts: string[] = [];
  const open: Open[] = [];
  let value = root;
  for (;;) {
    if (typeof value !== 'object' || value === null || value instanceof DeepJson) parts.push(leaf(value, style));
    else {
      const opened = openOf(value, style);
      open.push(opened);
      parts.push(opened.keys ? '{' : '[');
    }
    let current = open.at(-1);
    while (current && current.next === current.length) {
      parts.push(current.keys ? '}' : ']');
      open.pop();
      current = open.at(-1);
    }
    if (!current) return parts.join('');
    if (current.next > 0) parts.push(',');
    value = step(current, parts);
  }
}

function openOf(value: object, style: Style): Open {
  if (Array.isArray(value)) return { values: value, keys: undefined, length: value.length, next: 0 };
  const values = value as Readonly<Record<string, unknown>>;
  const keys = style.keysOf(values);
  return { values, keys, length: keys.length, next: 0 };
}

/** The value to be written next, after its key. */
function step(current: Open, parts: string[]): unknown {
  const { values, keys, next } = current;
  current.next += 1;
  if (Array.isArray(values)) return values[next];
  const key = keys?.[next] ?? '';
  parts.push(JSON.stringify(key), ':');
  return (values as Readonly<Record<string, unknown>>)[key];
}

function leaf(value: unknown, style: Style): string {
  if (value instanceof DeepJson) return value.text;
  if (typeof value === 'number') return style.writeNumber(value);
  return JSON.stringify(value) ?? 'null';
}
