import { isUtf8 } from 'node:buffer';

/** What one look over the bytes of a JSON text found. Nothing but depth: JSON.parse reads it without loss. */
export interface JsonHazards {
  /** How deep lists and objects are nested; 0 for a bare string or number. */
  readonly depth: number;
  /** The escape of NUL, which PostgreSQL cannot store. */
  readonly hasNul: boolean;
  /** The escape of one half of a surrogate pair without the other. */
  readonly hasLoneSurrogate: boolean;
  /** A number that a double may not hold: errs on the side of suspicion, never of trust. */
  readonly hasSuspectNumber: boolean;
  readonly hasInvalidUtf8: boolean;
}

interface Found {
  nul: boolean;
  loneSurrogate: boolean;
  suspectNumber: boolean;
}

// One by one and in this file, because V8 then compiles them in as numbers: read from an object or from another module
// they slow the scan by a quarter.
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const ZERO = 0x30;
const EIGHT = 0x38;
const NINE = 0x39;
const DOT = 0x2e;
const PLUS = 0x2b;
const MINUS = 0x2d;
const SMALL_A = 0x61;
const SMALL_C = 0x63;
const SMALL_D = 0x64;
const SMALL_E = 0x65;
const SMALL_F = 0x66;
const SMALL_U = 0x75;
/** Added to an ASCII letter's bits it gives the small letter. */
const SMALL = 0x20;

/** Length of `\u0000`. */
const ESCAPE_LENGTH = 6;
/** Every integer of so many digits is below 2^53. */
const EXACT_DIGITS = 15;
/** A double reaches 1.8e308: so many digits before the dot and an exponent of two digits stay below. */
const SAFE_DIGITS_WITH_EXPONENT = 200;

/**
 * Looks at a JSON text once, byte by byte, and builds nothing. It takes any bytes: whether they are JSON is the parser's
 * question. A plain loop over the Buffer reads 700 MB/s and more; jumping from quote to quote with indexOf read half as
 * much, because most strings are short. The loop over a string stands in here for the same reason: as a function of its
 * own it costs a quarter.
 */
export function scanJson(body: Buffer): JsonHazards {
  const found: Found = { nul: false, loneSurrogate: false, suspectNumber: false };
  const end = body.length;
  let depth = 0;
  let deepest = 0;
  for (let at = 0; at < end; at += 1) {
    const byte = body[at] as number;
    if (byte === QUOTE) {
      at += 1;
      while (at < end) {
        const inside = body[at] as number;
        if (inside === QUOTE) break;
        if (inside === BACKSLASH) {
          at += 1;
          if (body[at] === SMALL_U) at += lengthOfEscape(body, at - 1, found) - 2;
        }
        at += 1;
      }
    } else if (byte === OPEN_OBJECT || byte === OPEN_LIST) {
      depth += 1;
      if (depth > deepest) deepest = depth;
    } else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) depth -= 1;
    else if (byte >= ZERO && byte <= NINE) at = endOfNumber(body, at, found) - 1;
  }
  const { nul: hasNul, loneSurrogate: hasLoneSurrogate, suspectNumber: hasSuspectNumber } = found;
  return { depth: deepest, hasNul, hasLoneSurrogate, hasSuspectNumber, hasInvalidUtf8: !isUtf8(body) };
}

/** Looks at the `\uXXXX` at a place, and at the one behind it if the two are one character. */
function lengthOfEscape(body: Buffer, at: number, found: Found): number {
  const half = surrogateAt(body, at);
  if (half === undefined) {
    if (isNulAt(body, at + 2)) found.nul = true;
    return 2;
  }
  if (half === 'high' && surrogateAt(body, at + ESCAPE_LENGTH) === 'low') return 2 * ESCAPE_LENGTH;
  found.loneSurrogate = true;
  return 2;
}

function isNulAt(body: Buffer, at: number): boolean {
  return body[at] === ZERO && body[at + 1] === ZERO && body[at + 2] === ZERO && body[at + 3] === ZERO;
}

/** `\uD800` to `\uDBFF` are first halves, `\uDC00` to `\uDFFF` second ones. */
function surrogateAt(body: Buffer, at: number): 'high' | 'low' | undefined {
  if (body[at] !== BACKSLASH || body[at + 1] !== SMALL_U || smallLetter(body[at + 2]) !== SMALL_D) return undefined;
  const digit = body[at + 3] ?? 0;
  if (digit <= NINE) return digit >= EIGHT ? 'high' : undefined;
  const letter = smallLetter(digit);
  if (letter < SMALL_A || letter > SMALL_F) return undefined;
  return letter < SMALL_C ? 'high' : 'low';
}

/** The place behind a number's last character. */
function endOfNumber(body: Buffer, start: number, found: Found): number {
  let at = endOfDigits(body, start);
  const digits = at - start;
  const hasFraction = body[at] === DOT;
  if (!hasFraction && smallLetter(body[at]) !== SMALL_E) {
    if (digits > EXACT_DIGITS) found.suspectNumber = true;
    return at;
  }
  if (digits > SAFE_DIGITS_WITH_EXPONENT) found.suspectNumber = true;
  if (hasFraction) at = endOfDigits(body, at + 1);
  if (smallLetter(body[at]) !== SMALL_E) return at;
  const sign = body[at + 1];
  const exponent = at + (sign === MINUS || sign === PLUS ? 2 : 1);
  at = endOfDigits(body, exponent);
  if (sign !== MINUS && at - exponent > 2) found.suspectNumber = true;
  return at;
}

function endOfDigits(body: Buffer, start: number): number {
  const end = body.length;
  let at = start;
  while (at < end && (body[at] as number) >= ZERO && (body[at] as number) <= NINE) at += 1;
  return at;
}

function smallLetter(byte: number | undefined): number {
  return byte === undefined ? 0 : byte | SMALL;
}
