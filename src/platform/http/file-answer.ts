import { createHash } from 'node:crypto';

/** What an operation gives to be downloaded. */
export class FileAnswer {
  readonly bytes: Buffer;
  /** As whoever made it called it. It may be anything. */
  readonly name: string;
  readonly contentType: string;

  constructor(bytes: Buffer, name: string, contentType: string) {
    this.bytes = bytes;
    this.name = name;
    this.contentType = contentType;
  }

  /** Of the content: whoever goes on with a part of it asks whether it is still the same. */
  get tag(): string {
    return `"${createHash('sha256').update(this.bytes).digest('base64url')}"`;
  }

  /** What says that a browser is to save it, and never to show it: what a worker wrote may be a page with a script. */
  get headers(): Readonly<Record<string, string>> {
    return {
      'content-type': this.contentType,
      'content-disposition': dispositionOf(this.name),
      'x-content-type-options': 'nosniff',
      'content-security-policy': "default-src 'none'; sandbox",
      'accept-ranges': 'bytes',
      'cache-control': 'private, no-cache',
      etag: this.tag,
    };
  }
}

/** Bytes from `start` up to, and not with, `end`. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/**
 * Which part of `size` bytes a Range header asks for (RFC 9110, 14.2): one range, or undefined for all of them. What cannot
 * be read is passed over, as are several ranges at once, and the whole is the answer. `unsatisfiable`: nothing lies there.
 */
export function rangeOf(header: string | undefined, size: number): ByteRange | 'unsatisfiable' | undefined {
  const [, first, last] = /^bytes=(\d*)-(\d*)$/i.exec(header?.replaceAll(' ', '') ?? '') ?? [];
  if (first === undefined || last === undefined || (first === '' && last === '')) return undefined;
  if (first === '') return endOf(Number(last), size);
  const start = Number(first);
  if (last !== '' && Number(last) < start) return undefined;
  if (start >= size) return 'unsatisfiable';
  return { start, end: last === '' ? size : Math.min(Number(last) + 1, size) };
}

function endOf(count: number, size: number): ByteRange | 'unsatisfiable' {
  return count === 0 || size === 0 ? 'unsatisfiable' : { start: Math.max(0, size - count), end: size };
}

/** RFC 6266: a name in plain letters for old clients, and the name itself. */
export function dispositionOf(name: string): string {
  const shown = name.toWellFormed().replaceAll(/[\p{Cc}/\\]/gu, '_');
  const plain = shown.replaceAll(/[^\x20-\x7e]|["%]/g, '_');
  const encoded = encodeURIComponent(shown).replaceAll(
    /['()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `attachment; filename="${plain}"; filename*=UTF-8''${encoded}`;
}
