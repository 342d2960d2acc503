/** What stands in the place of a value. The worker SDK writes the same. */
export const REDACTED = '***REDACTED***';

/** From here on a form is looked for anywhere in a text. Shorter ones would be found in the middle of other words. */
export const LONG = 8;
/** Shorter values are no secrets: whoever masks every `1` or `yes` masks everything. */
export const SHORTEST = 4;
/** Words that stand in any trace. As values they tell nobody anything, and without them a trace is garbage. */
const COMMON = new Set(
  `true false null none undefined default localhost test name user data text json http https post info warn error debug`.split(
    ' ',
  ),
);

/** A longer form is looked for in pieces, so that what may be held back of a text stays small. */
const PIECE = 1_024;
/** Up to here also with every character escaped, which makes a form six times as long. */
const WHOLLY_ESCAPED = 256;
/** Lines of a private key, which programs print one by one. */
const LINE = 16;

/** What is looked for in texts. */
export interface Forms {
  /** At least 8 characters, also without their first one (see splits): anywhere. */
  readonly long: ReadonlySet<string>;
  /** Shorter: as words of their own. */
  readonly words: ReadonlySet<string>;
  /** The values themselves, for numbers that are one. */
  readonly values: ReadonlySet<string>;
}

/** All the ways in which these values may stand in a text: plain, in base64, URL-encoded and escaped as JSON. */
export function formsOf(values: Iterable<string>): Forms {
  const long = new Set<string>();
  const words = new Set<string>();
  const kept = new Set<string>();
  const add = (form: string): void => {
    if (form.length < LONG) {
      if (form.length >= SHORTEST) words.add(form);
    } else for (const piece of piecesOf(form)) long.add(piece).add(piece.slice(1));
  };
  for (const given of values) {
    const whole = given.toWellFormed();
    for (const value of new Set([whole, whole.trim()])) {
      if (value.length < SHORTEST || COMMON.has(value.toLowerCase())) continue;
      kept.add(value);
      for (const form of writtenForms(value)) {
        add(form);
        add(inside(form)); // so that an event can be looked through as the JSON that it is, too
      }
      for (const line of linesOf(value)) add(line);
    }
  }
  return { long, words, values: kept };
}

function writtenForms(value: string): string[] {
  return [value, ...base64Forms(value), ...urlForms(value), ...jsonForms(value)];
}

/** Pieces that cover the form; the last one ends where it ends. */
function piecesOf(form: string): string[] {
  const pieces: string[] = [];
  for (let start = 0; start + PIECE < form.length; start += PIECE) pieces.push(form.slice(start, start + PIECE));
  return [...pieces, form.slice(-PIECE)];
}

function linesOf(value: string): string[] {
  if (!value.includes('\n')) return [];
  const lines = value.split('\n').map((line) => line.trim());
  return lines.filter((line) => line.length >= LINE && !line.startsWith('-----'));
}

/**
 * In base64 a value looks different at each of three positions of its first byte. What is looked for are the characters
 * that are made of the value's bits alone.
 */
function base64Forms(value: string): string[] {
  const bytes = Buffer.from(value);
  return [0, 1, 2].flatMap((before) => {
    const text = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64');
    const core = text.slice(Math.ceil((before * 8) / 6), Math.floor(((before + bytes.length) * 8) / 6));
    return [core, core.replaceAll('+', '-').replaceAll('/', '_')];
  });
}

const escapedByte = (char: string): string =>
  [...Buffer.from(char)].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join('');

/** As browsers, Python, forms and strict readers of RFC 3986 write it, with hex digits of either case. */
function urlForms(value: string): string[] {
  const component = encodeURIComponent(value);
  const strict = component.replace(/[!'()*]/g, escapedByte);
  const kinds = [
    component,
    strict,
    strict.replaceAll('%2F', '/'),
    encodeURI(value),
    new URLSearchParams([['', value]]).toString().slice(1),
  ];
  if (value.length <= WHOLLY_ESCAPED) kinds.push([...value].map(escapedByte).join(''));
  return kinds
    .flatMap((form) => [form, form.replaceAll('%20', '+')])
    .flatMap((form) => [form, form.replace(/%[0-9A-F]{2}/g, (hex) => hex.toLowerCase())]);
}

const inside = (value: string): string => JSON.stringify(value).slice(1, -1);
function escapedUnits(value: string, which: RegExp, isUpper: boolean): string {
  return value.replace(which, (unit) => {
    const hex = unit.charCodeAt(0).toString(16).padStart(4, '0');
    return `\\u${isUpper ? hex.toUpperCase() : hex}`;
  });
}

/** As it stands inside JSON, and inside JSON that is text in JSON. Writers differ in what else they escape. */
function jsonForms(value: string): string[] {
  const plain = inside(value);
  const forms = [plain, plain.replaceAll('/', '\\/')];
  for (const isUpper of [false, true]) {
    const ascii = escapedUnits(plain, /[^\0-\x7f]/g, isUpper);
    forms.push(ascii, ascii.replaceAll('/', '\\/'));
    forms.push(escapedUnits(plain, /[<>&]|[^\0-\x7f]/g, isUpper));
    forms.push(escapedUnits(plain.replaceAll('\\"', '\\u0022'), /[<>&'+`]|[^\0-\x7f]/g, isUpper));
    if (value.length <= WHOLLY_ESCAPED) forms.push(escapedUnits(value, /[^]/g, isUpper));
  }
  return [...forms, inside(plain), inside(forms[2] ?? plain)];
}
