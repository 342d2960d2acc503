/** One event of a `text/event-stream`, with the moment it was read (milliseconds of the monotonic clock). */
export interface StreamEvent<Data = Readonly<Record<string, unknown>>> {
  readonly id: string | undefined;
  readonly event: string;
  readonly data: Data;
  readonly at: number;
}

/** Text that arrives in pieces, one after the other or from the start again. */
interface Delta {
  readonly delta?: unknown;
  readonly reset?: unknown;
}

/**
 * Reads a stream as the standard has it: lines end with CR, LF or both and with nothing else, so an unescaped U+2028 stays
 * inside its line. Comments are left out, data is JSON.
 */
export async function* readEvents(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<StreamEvent> {
  for await (const block of blocksOf(chunks)) {
    const event = parseBlock(block);
    if (event) yield event;
  }
}

/** The text that the deltas of a stream add up to. */
export function joinDeltas(events: readonly StreamEvent[]): string {
  let text = '';
  for (const { event, data } of events) {
    if (event !== 'message.delta') continue;
    const { delta, reset } = data as Delta;
    text = reset === true ? String(delta) : text + String(delta);
  }
  return text;
}

/** Every event until the stream ends, or until `enough` says so. */
export async function collect(
  events: AsyncIterable<StreamEvent>,
  enough: (event: StreamEvent) => boolean = () => false,
): Promise<StreamEvent[]> {
  const collected: StreamEvent[] = [];
  for await (const event of events) {
    collected.push(event);
    if (enough(event)) break;
  }
  return collected;
}

async function* blocksOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let pending = '';
  for await (const chunk of chunks) {
    const text = decoder.decode(chunk, { stream: true });
    pending += text;
    if (!/[\r\n]/.test(text)) continue; // the middle of a long event: nothing to look for
    // A CR at the very end may be half of a CR LF: it waits for the next chunk.
    const parts = pending.split(/(?:\r\n|\r(?!$)|\n){2}/);
    pending = parts.pop() ?? '';
    yield* parts;
  }
}

function parseBlock(block: string): StreamEvent | undefined {
  let id: string | undefined;
  let event = 'message';
  const data: string[] = [];
  for (const line of block.split(/\r\n|\r|\n/)) {
    const [, field, value] = /^([^:]+):? ?(.*)$/s.exec(line) ?? [];
    if (field === 'id') id = value;
    if (field === 'event') event = value ?? '';
    if (field === 'data') data.push(value ?? '');
  }
  if (data.length === 0) return undefined;
  return { id, event, data: JSON.parse(data.join('\n')) as StreamEvent['data'], at: performance.now() };
}
