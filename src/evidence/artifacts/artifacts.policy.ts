import {
  DeepJson,
  formatPath,
  isJsonObject,
  replaceTooDeep,
  writeJson,
  type JsonObject,
  type JsonPath,
} from '../../platform/json/json.ts';

/** From where on parts of an event become artifacts (contract.md C13). */
export interface EventLimits {
  readonly fieldBytes: number;
  readonly eventBytes: number;
  readonly artifactBytes: number;
  readonly depth: number;
}

/** What was too large or too deep for its event. */
export interface NewArtifact {
  readonly id: string;
  readonly name: string;
  readonly mimeType: 'text/plain' | 'application/json';
  readonly content: string;
  readonly bytes: number;
  /** It was larger than an artifact may be, and ends there. */
  readonly isCut: boolean;
}

/** The mark that an event keeps where an artifact was taken from it. `bytes` is what was sent. */
export interface Truncation {
  readonly path: string;
  readonly artifact_id: string;
  readonly bytes: number;
}

/** An event that fits: its JSON text, and what had to leave it. */
export interface Fitted {
  readonly text: string;
  readonly artifacts: readonly NewArtifact[];
  readonly truncated: readonly Truncation[];
  /** Paths that left because they were nested too deep: such a value is not what was sent. */
  readonly tooDeep: readonly string[];
}

/** What a reader sees of a value that became an artifact. */
const PREVIEW_LENGTH = 1_024;
/** A value shorter than this gives an event hardly any room. */
const WORTH_MOVING = 2 * PREVIEW_LENGTH;
const NAME_LENGTH = 200;
/** A UTF-16 unit becomes at most three bytes of UTF-8. */
const BYTES_PER_UNIT = 3;
/** `payload.args` and `payload.result` are fields, their insides are not: so much of an event stays readable. */
const FIELD_LEVELS = 2;
const HOLDERS = ['payload', 'metadata', 'usage'];

const NOTHING: readonly never[] = [];

/**
 * Writes an event so that it fits, changing the event in place where it does not: a field that is nested too deep or is
 * larger than its limit becomes an artifact and keeps a preview; an event that is still too large loses its largest fields.
 * `newId` is asked for each artifact. Most events are small and cost one JSON.stringify.
 */
export function fitEvent(event: JsonObject, limits: EventLimits, newId: () => string): Fitted {
  const text = smallText(event, limits);
  return text === undefined ? fitLarge(event, limits, newId) : fitted(text);
}

/** The JSON of an event that fits by far, as most do; undefined for the others. */
export function smallText(event: JsonObject, limits: EventLimits): string | undefined {
  if (isTooDeep(event, limits)) return undefined;
  const text = JSON.stringify(event);
  return isSmall(text, limits.fieldBytes) ? text : undefined;
}

/** An event that needs no fitting. */
export function fitted(text: string): Fitted {
  return { text, artifacts: NOTHING, truncated: NOTHING, tooDeep: NOTHING };
}

function fitLarge(event: JsonObject, limits: EventLimits, newId: () => string): Fitted {
  return new Fitting(event, limits, newId).result(isTooDeep(event, limits));
}

function isTooDeep(event: JsonObject, limits: EventLimits): boolean {
  return isDeeperThan(event, limits.depth + 1); // the event itself is a level
}

/** A text as short as its preview may be, never ending in half a character. */
export function previewOf(text: string): string {
  if (text.length <= PREVIEW_LENGTH) return text;
  const last = text.charCodeAt(PREVIEW_LENGTH - 1);
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? PREVIEW_LENGTH - 1 : PREVIEW_LENGTH);
}

/** A field that may leave its event. */
interface Field {
  readonly holder: JsonObject;
  readonly key: string;
  readonly path: JsonPath;
  readonly content: string;
  readonly bytes: number;
}

class Fitting {
  private readonly artifacts: NewArtifact[] = [];
  private readonly truncated: Truncation[] = [];
  private readonly tooDeep: string[] = [];

  private readonly event: JsonObject;
  private readonly limits: EventLimits;
  private readonly newId: () => string;

  constructor(event: JsonObject, limits: EventLimits, newId: () => string) {
    this.event = event;
    this.limits = limits;
    this.newId = newId;
  }

  result(isDeep: boolean): Fitted {
    if (isDeep) this.moveDeep();
    for (const field of this.fields()) if (field.bytes > this.limits.fieldBytes) this.move(field);
    let text = this.shrunk();
    // A payload of a hundred thousand small members: none of them is worth moving alone.
    for (const key of HOLDERS) {
      if (Buffer.byteLength(text) <= this.limits.eventBytes) break;
      text = this.moveHolder(key);
    }
    return { text, artifacts: this.artifacts, truncated: this.truncated, tooDeep: this.tooDeep };
  }

  private moveDeep(): void {
    replaceTooDeep(this.event, { maxDepth: this.limits.depth, fieldLevels: FIELD_LEVELS }, (value, path) => {
      this.tooDeep.push(formatPath(path));
      return this.keep(path, 'application/json', writeJson(value));
    });
  }

  /** Moves the largest fields until the rest fits, or nothing is left that is worth it. Writes the event only twice. */
  private shrunk(): string {
    const text = JSON.stringify(this.event);
    let excess = Buffer.byteLength(text) - this.limits.eventBytes;
    if (excess <= 0) return text;
    const candidates = this.fields().filter(({ bytes }) => bytes > WORTH_MOVING);
    for (const field of candidates.sort((one, other) => other.bytes - one.bytes)) {
      const before = writtenBytes(field.holder[field.key]);
      this.move(field);
      excess -= before - writtenBytes(field.holder[field.key]);
      if (excess <= 0) break;
    }
    return JSON.stringify(this.event);
  }

  private moveHolder(key: string): string {
    const holder = this.event[key];
    if (isJsonObject(holder))
      this.event[key] = { preview: this.keep([key], 'application/json', JSON.stringify(holder)) };
    return JSON.stringify(this.event);
  }

  private fields(): Field[] {
    const holders = HOLDERS.map((key) => [key, this.event[key]] as const).filter(
      (entry): entry is readonly [string, JsonObject] => isJsonObject(entry[1]),
    );
    const inside = holders.flatMap(([key, holder]) => fieldsOf(holder, [key]));
    const names = new Set(holders.map(([key]) => key));
    return [...fieldsOf(this.event, []).filter(({ key }) => !names.has(key)), ...inside];
  }

  private move({ holder, key, path, content }: Field): void {
    const mimeType = typeof holder[key] === 'string' ? 'text/plain' : 'application/json';
    holder[key] = this.keep(path, mimeType, content); // an own key, so `__proto__` is set like any other
  }

  /** Answers the preview. */
  private keep(path: JsonPath, mimeType: NewArtifact['mimeType'], content: string): string {
    const { artifactBytes } = this.limits;
    const bytes = Buffer.byteLength(content);
    const isCut = bytes > artifactBytes;
    const kept = isCut ? cutAt(content, artifactBytes) : content;
    const id = this.newId();
    const name = `${String(this.event['event_type'])}.${formatPath(path)}`.slice(0, NAME_LENGTH).toWellFormed();
    this.artifacts.push({ id, name, mimeType, content: kept, bytes: isCut ? Buffer.byteLength(kept) : bytes, isCut });
    this.truncated.push({ path: formatPath(path), artifact_id: id, bytes });
    return previewOf(content);
  }
}

function fieldsOf(holder: JsonObject, at: JsonPath): Field[] {
  const fields: Field[] = [];
  for (const [key, value] of Object.entries(holder)) {
    if (typeof value !== 'string' && (typeof value !== 'object' || value === null)) continue;
    const content = typeof value === 'string' ? value : JSON.stringify(value);
    fields.push({ holder, key, path: [...at, key], content, bytes: Buffer.byteLength(content) });
  }
  return fields;
}

function isSmall(text: string, limit: number): boolean {
  return text.length * BYTES_PER_UNIT <= limit || Buffer.byteLength(text) <= limit;
}

function writtenBytes(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}

/** Looks no further down than the limit. */
function isDeeperThan(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (levels === 0) return true;
  if (value instanceof DeepJson) return value.depth > levels;
  if (Array.isArray(value)) return value.some((item) => isDeeperThan(item, levels - 1));
  for (const key in value) if (isDeeperThan((value as JsonObject)[key], levels - 1)) return true;
  return false;
}

/** The longest beginning of a text that takes so many bytes. */
function cutAt(text: string, bytes: number): string {
  const cut = Buffer.from(text).subarray(0, bytes);
  let end = cut.length;
  while (end > 0 && ((cut[end - 1] ?? 0) & 0xc0) === 0x80) end -= 1; // back to the lead byte of the last character
  const lead = cut[end - 1] ?? 0;
  const length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  return cut.subarray(0, end - 1 + length > cut.length ? end - 1 : cut.length).toString('utf8');
}
