import type { ServerResponse } from 'node:http';

/** One open event stream, as its owner sees it. Writing never blocks; a reader that does not read is the owner's to end. */
export class EventSink {
  private readonly response: ServerResponse;
  private readonly closed = new AbortController();

  constructor(response: ServerResponse) {
    this.response = response;
    response.once('close', () => this.closed.abort());
    if (response.destroyed || response.closed) this.closed.abort(); // the caller left while it was answered: no 'close' follows
    response.on('error', () => {}); // 'close' follows
  }

  /** Aborted when the stream is over, whoever ended it. */
  get signal(): AbortSignal {
    return this.closed.signal;
  }

  /** Bytes that the reader has not taken yet. */
  get pendingBytes(): number {
    return this.response.writableLength;
  }

  /** The kernel's handle of the connection; undefined once it is gone. */
  get socket(): ServerResponse['socket'] {
    return this.response.socket;
  }

  write(chunk: string | Buffer): void {
    if (!this.response.destroyed && !this.response.writableEnded) this.response.write(chunk);
  }

  /** Ends in good order, after what was written. */
  end(chunk?: string | Buffer): void {
    if (!this.response.writableEnded) this.response.end(chunk);
  }

  /** Ends at once; what was not sent is not sent. */
  destroy(): void {
    this.response.destroy();
  }
}

/** An answer that goes on: the transport writes the head and hands the sink to whoever fills it. */
export class LiveStream {
  readonly attach: (sink: EventSink) => void;

  constructor(attach: (sink: EventSink) => void) {
    this.attach = attach;
  }
}

/** Python's splitlines, which HTTP clients use, ends a line here too; JSON.stringify escapes every other line break. */
const LINE_BREAKS_IN_JSON = /[\u0085\u2028\u2029]/g;

/** JSON on one line for every reader. */
export function onOneLine(json: string): string {
  return json.replace(LINE_BREAKS_IN_JSON, (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** One server-sent event; `json` is its data, already serialized. */
export function serverSentEvent(event: string, json: string, id?: string | number): string {
  return `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${onOneLine(json)}\n\n`;
}

/** A line that readers ignore, so that an idle stream is not taken for a dead one. */
export const KEEP_ALIVE_COMMENT = Buffer.from(': keep-alive\n\n');
