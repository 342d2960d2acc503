/** One server-sent event, as the specification of `text/event-stream` defines it. */
export interface ServerSentEvent {
  /** What to send as `Last-Event-ID` to go on after this event; empty when the server gave none. */
  readonly id: string;
  readonly event: string;
  readonly data: string;
}

/**
 * Reads an answer of type `text/event-stream` event by event, until the server ends it or the request is aborted.
 * `onBytes` is called whenever something comes, also when it is only a comment.
 */
export async function* serverSentEvents(response: Response, onBytes?: () => void): AsyncGenerator<ServerSentEvent> {
  let id = '';
  let event = 'message';
  let data: string[] = [];
  for await (const line of lines(response, onBytes)) {
    const [, field = '', value = ''] = /^([^:]*):? ?(.*)$/s.exec(line) ?? [];
    if (field === 'id') id = value;
    else if (field === 'event') event = value;
    else if (field === 'data') data.push(value);
    else if (line === '') {
      if (data.length > 0) yield { id, event, data: data.join('\n') };
      event = 'message';
      data = [];
    }
  }
}

async function* lines(response: Response, onBytes?: () => void): AsyncGenerator<string> {
  if (!response.body) return;
  const decoder = new TextDecoder();
  let rest = '';
  for await (const bytes of response.body) {
    onBytes?.();
    const complete = (rest + decoder.decode(bytes, { stream: true })).split(/\r?\n/);
    rest = complete.pop() ?? '';
    yield* complete;
  }
}
