import { isUtf8 } from 'node:buffer';
import { DeepJson } from './deep-json.ts';
import { isKeptByDouble } from './number.ts';
import type { JsonPath } from './path.ts';
import type { JsonHazards } from './scan.ts';

/** Why something cannot be kept as it was sent; also the `type` of the problem where it is refused. */
export type Flaw = 'text_nul' | 'text_lone_surrogate' | 'text_not_utf8' | 'number_inexact';

export interface CarefulOptions {
  /** Lists and objects below this level stay text (DeepJson). */
  readonly maxBuiltDepth: number;
  /** Called at each flawed key or value. The path is only made when it is asked for. */
  readonly onFlaw: (flaw: Flaw, pathOf: () => JsonPath) => void;
}

type Target = unknown[] | Record<string, unknown>;

/** A list or object whose end has not come yet. */
interface Frame {
  readonly close: number;
  /** Absent below the built levels. */
  readonly target?: Target;
  /** Where in the target the value goes that is being read. */
  key: string | number;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const COMMA = 0x2c;
const COLON = 0x3a;
const SPACE = 0x20;
const LAST_ASCII = 0x7f;
const NUMBER_BYTES = new Uint8Array(256);
for (const byte of Buffer.from('+-.eE0123456789')) NUMBER_BYTES[byte] = 1;
/** From 13 characters on, V8 makes a slice of a string a view into it. */
const COPIED_SLICE = 13;
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** What was opened is not whole yet. */
const OPENED = Symbol('opened');
/** One of each is enough, however many levels there are. */
const UNBUILT_LIST: Frame = Object.freeze({ close: CLOSE_LIST, key: 0 });
const UNBUILT_OBJECT: Frame = Object.freeze({ close: CLOSE_OBJECT, key: '' });

/**
 * Reads a JSON text of which the scan saw that JSON.parse would lose or distort something. Same language and same values
 * as JSON.parse, but bad characters become U+FFFD, numbers that a double does not keep become their digits as text, and
 * each such place is told. It does not recurse, so depth costs no stack. Throws a SyntaxError if the text is not JSON.
 */
export function readCarefully(body: Buffer, hazards: JsonHazards, options: CarefulOptions): unknown {
  return new CarefulReader(body, hazards, options).read();
}

class CarefulReader {
  private readonly body: Buffer;
  /** The same bytes as a string, one character each. */
  private readonly source: string;
  private readonly hazards: JsonHazards;
  private readonly options: CarefulOptions;
  private readonly frames: Frame[] = [];
  private at = 0;
  private unbuiltStart = 0;
  private unbuiltDepth = 0;

  constructor(body: Buffer, hazards: JsonHazards, options: CarefulOptions) {
    this.body = body;
    this.source = body.toString('latin1');
    this.hazards = hazards;
    this.options = options;
  }

  read(): unknown {
    for (;;) {
      let value = this.readValue();
      // A whole value goes into what is open around it, which may make that whole in turn.
      while (value !== OPENED) {
        const frame = this.frames.at(-1);
        if (!frame) return this.atEnd(value);
        value = this.add(frame, value);
      }
    }
  }

  private readValue(): unknown {
    const byte = this.peek();
    if (byte === QUOTE) return this.readText();
    if (byte === OPEN_OBJECT) return this.open(byte, this.isUnbuilt() ? UNBUILT_OBJECT : objectFrame());
    if (byte === OPEN_LIST) return this.open(byte, this.isUnbuilt() ? UNBUILT_LIST : listFrame());
    return NUMBER_BYTES[byte] === 1 ? this.readNumber() : this.readWord();
  }

  private open(byte: number, frame: Frame): unknown {
    if (this.frames.length === this.options.maxBuiltDepth) [this.unbuiltStart, this.unbuiltDepth] = [this.at, 0];
    this.at += 1;
    this.frames.push(frame);
    this.unbuiltDepth = Math.max(this.unbuiltDepth, this.frames.length - this.options.maxBuiltDepth);
    if (this.peek() === frame.close) {
      this.at += 1;
      return this.close();
    }
    if (byte === OPEN_OBJECT) this.readKey(frame);
    return OPENED;
  }

  private close(): unknown {
    const frame = this.frames.pop();
    if (frame?.target) return frame.target;
    if (this.frames.length > this.options.maxBuiltDepth) return undefined;
    const bytes = this.body.subarray(this.unbuiltStart, this.at);
    if (this.hazards.hasInvalidUtf8 && !isUtf8(bytes)) this.tell('text_not_utf8');
    return new DeepJson(bytes.toString('utf8'), this.unbuiltDepth);
  }

  /** Puts a whole value in its place. Answers what that completed. */
  private add(frame: Frame, value: unknown): unknown {
    if (frame.target) put(frame.target, frame.key, value);
    const byte = this.peek();
    this.at += 1;
    if (byte === frame.close) return this.close();
    if (byte !== COMMA) throw this.notJson();
    if (frame.close === CLOSE_OBJECT) this.readKey(frame);
    else if (frame.target) frame.key = (frame.key as number) + 1;
    return OPENED;
  }

  private readKey(frame: Frame): void {
    if (this.peek() !== QUOTE) throw this.notJson();
    this.readText((key) => {
      if (frame.target) frame.key = key;
    });
    if (this.peek() !== COLON) throw this.notJson();
    this.at += 1;
  }

  /** `place` is told the text before its flaws are, because a key is part of its own path. */
  private readText(place?: (text: string) => void): string {
    const start = this.at + 1;
    let at = start;
    let hasEscapes = false;
    let isAscii = true;
    for (let byte = this.body[at]; byte !== QUOTE; byte = this.body[at]) {
      if (byte === undefined || byte < SPACE) throw this.notJson();
      if (byte === BACKSLASH) hasEscapes = true;
      else if (byte > LAST_ASCII) isAscii = false;
      at += byte === BACKSLASH ? 2 : 1;
    }
    this.at = at + 1;
    const sent = this.textBetween(start, at, { hasEscapes, isAscii });
    const flaw = this.flawOf(sent, hasEscapes, isAscii ? undefined : this.body.subarray(start, at));
    const text = flaw ? sent.replaceAll('\0', '\ufffd').toWellFormed() : sent;
    place?.(text);
    if (flaw) this.tell(flaw);
    return text;
  }

  private textBetween(start: number, end: number, seen: { hasEscapes: boolean; isAscii: boolean }): string {
    if (seen.hasEscapes) return JSON.parse(this.body.toString('utf8', start - 1, end + 1)) as string;
    return seen.isAscii ? this.ascii(start, end) : this.body.toString('utf8', start, end);
  }

  private ascii(start: number, end: number): string {
    // A slice of so few characters is a copy. A longer one would hold on to the whole body for as long as it lives.
    return end - start < COPIED_SLICE ? this.source.slice(start, end) : this.body.toString('latin1', start, end);
  }

  private flawOf(text: string, hasEscapes: boolean, bytes: Buffer | undefined): Flaw | undefined {
    if (hasEscapes && text.includes('\0')) return 'text_nul';
    if (hasEscapes && !text.isWellFormed()) return 'text_lone_surrogate';
    return bytes && this.hazards.hasInvalidUtf8 && !isUtf8(bytes) ? 'text_not_utf8' : undefined;
  }

  private readNumber(): number | string {
    const start = this.at;
    while (NUMBER_BYTES[this.body[this.at] ?? 0] === 1) this.at += 1;
    const literal = this.ascii(start, this.at);
    if (!NUMBER.test(literal)) throw this.notJson();
    if (!this.hazards.hasSuspectNumber || isKeptByDouble(literal)) return Number(literal);
    this.tell('number_inexact');
    return literal;
  }

  private readWord(): boolean | null {
    for (const [word, value] of [
      ['true', true],
      ['false', false],
      ['null', null],
    ] as const) {
      if (this.ascii(this.at, this.at + word.length) !== word) continue;
      this.at += word.length;
      return value;
    }
    throw this.notJson();
  }

  private tell(flaw: Flaw): void {
    if (this.frames.length <= this.options.maxBuiltDepth) this.options.onFlaw(flaw, this.path);
  }

  private readonly path = (): JsonPath => this.frames.map(({ key }) => key);

  private isUnbuilt(): boolean {
    return this.frames.length >= this.options.maxBuiltDepth;
  }

  /** The next byte that is not white space; 0 at the end. */
  private peek(): number {
    for (;;) {
      const byte = this.body[this.at] ?? 0;
      if (byte !== SPACE && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return byte;
      this.at += 1;
    }
  }

  private atEnd(value: unknown): unknown {
    this.peek();
    if (this.at < this.body.length) throw this.notJson();
    return value;
  }

  private notJson(): SyntaxError {
    return new SyntaxError(`Not JSON at byte ${this.at}`);
  }
}

function listFrame(): Frame {
  return { close: CLOSE_LIST, target: [], key: 0 };
}

function objectFrame(): Frame {
  return { close: CLOSE_OBJECT, target: {}, key: '' };
}

function put(target: Target, key: string | number, value: unknown): void {
  if (Array.isArray(target)) target.push(value);
  else if (key !== '__proto__') target[key] = value;
  else Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
}
