/**
 * The downlink of a worker: one long answer of server-sent events, each with a frame in it.
 *
 * Nothing on it is vital. A frame that is lost with the connection comes again after the reconnect, and work is found
 * by asking every ten seconds anyway; the channel makes it quick.
 */

import { setTimeout as pause } from 'node:timers/promises';
import { isObject, type Frame, type FrameLink } from './frames.ts';
import { serverSentEvents } from './sse.ts';

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 30_000;
/** The control plane pings every 5 s. After this much silence the connection is taken for dead. */
const SILENCE_MS = 60_000;

/** Keeps a channel open until `signal` is aborted, and hands over each frame that arrives on it. */
export async function keepChannel(
  link: FrameLink,
  onFrame: (frame: Frame) => void,
  signal: AbortSignal,
): Promise<void> {
  let failures = 0;
  while (!signal.aborted) {
    const established = await readChannel(link, onFrame, signal);
    failures = established ? 0 : failures + 1;
    const wait = established ? FIRST_PAUSE_MS : Math.min(FIRST_PAUSE_MS * 2 ** (failures - 1), LONGEST_PAUSE_MS);
    await pause(wait, undefined, { signal }).catch(() => undefined);
  }
}

/** Reads one connection to its end, whatever ends it. Says whether it was ever established. */
async function readChannel(link: FrameLink, onFrame: (frame: Frame) => void, signal: AbortSignal): Promise<boolean> {
  const silence = new AbortController();
  const timer = setTimeout(() => silence.abort(), SILENCE_MS);
  let established = false;
  try {
    const response = await link.openChannel(AbortSignal.any([signal, silence.signal]));
    established = true;
    for await (const { data } of serverSentEvents(response)) {
      timer.refresh();
      const frame = parseFrame(data);
      if (frame) onFrame(frame);
    }
  } catch (error) {
    if (!signal.aborted) console.error(`worker: the channel broke (${String(error)})`);
  } finally {
    clearTimeout(timer);
  }
  return established;
}

/** A frame that cannot be read is passed over: there is nobody to answer it to. */
function parseFrame(data: string): Frame | undefined {
  try {
    const { id, type, payload, needsReply }: Partial<Record<string, unknown>> = JSON.parse(data);
    if (typeof id !== 'string' || typeof type !== 'string' || !isObject(payload)) return undefined;
    return { id, type, payload, needsReply: needsReply === true };
  } catch {
    return undefined;
  }
}
