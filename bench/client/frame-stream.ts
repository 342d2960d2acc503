import type { IncomingMessage } from 'node:http';
import { isObject, type JsonObject } from './json-client.ts';

/** Reads the frames of a worker's channel: server-sent events with one JSON envelope each. Comments keep it alive. */
export function readFrames(response: IncomingMessage, onFrame: (frame: JsonObject) => void): void {
  let held = '';
  response.setEncoding('utf8').on('data', (chunk: string) => {
    const events = (held + chunk).split('\n\n');
    held = events.pop() ?? '';
    for (const event of events) {
      const data = event.split('\n').filter((line) => line.startsWith('data:'));
      if (data.length === 0) continue;
      const frame: unknown = JSON.parse(data.map((line) => line.slice('data:'.length).trim()).join('\n'));
      if (isObject(frame)) onFrame(frame);
    }
  });
}
