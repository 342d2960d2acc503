/**
 * The downlink of a worker: one long answer of server-sent events, each with a frame in it (worker-protocol §4).
 *
 * Nothing on it is vital. A frame that is lost with the connection comes again after the reconnect, and work is found
 * by asking every ten seconds anyway; the channel makes it quick.
 */

import { Refused, sentence } from './errors.ts';
import type { Frame, FrameLink } from './frames.ts';
import { isObject } from './json.ts';
import { serverSentEvents } from './sse.ts';
import { backOff, pause } from './timing.ts';

export interface ChannelOptions {
  readonly onFrame: (frame: Frame) => void;
  /** Called each time the channel is open. */
  readonly onOpen: () => void;
  /** Called when the token was refused. It ends nothing here: whoever holds the token finds out whether it is dead. */
  readonly onUnauthorized: () => void;
  readonly log: (line: string) => void;
  readonly signal: AbortSignal;
}

/** Keeps a channel open until `signal` is aborted, and hands over each frame that arrives on it. */
export async function keepChannel(link: FrameLink, options: ChannelOptions): Promise<void> {
  let failures = 0;
  while (!options.signal.aborted) {
    const established = await readChannel(link, options, failures === 0);
    failures = established ? 0 : failures + 1;
    await pause(backOff(failures, link.timing), options.signal);
  }
}

/** Reads one connection to its end, whatever ends it. Says whether it was ever established. */
async function readChannel(
  link: FrameLink,
  { onFrame, onOpen, onUnauthorized, log, signal }: ChannelOptions,
  isNews: boolean,
): Promise<boolean> {
  const silence = new AbortController();
  const timer = setTimeout(() => silence.abort(new Error('nothing came for too long')), link.timing.channelSilence);
  let established = false;
  try {
    const response = await link.openChannel(AbortSignal.any([signal, silence.signal]));
    established = true;
    onOpen();
    for await (const { data } of serverSentEvents(response, () => timer.refresh())) {
      const frame = parseFrame(data);
      if (frame) onFrame(frame);
    }
    if (!signal.aborted) log('the channel was closed; opening another');
  } catch (error) {
    const isUnauthorized = error instanceof Refused && error.status === 401;
    if (isUnauthorized) onUnauthorized(); // whoever registers again says what is wrong
    const reason: unknown = silence.signal.aborted ? silence.signal.reason : error;
    if (!isUnauthorized && !signal.aborted && (isNews || established))
      log(`the channel broke: ${sentence(reason)}; opening another`);
  } finally {
    clearTimeout(timer);
  }
  return established;
}

/** A frame that cannot be read is passed over: there is nobody to answer it to. */
function parseFrame(data: string): Frame | undefined {
  try {
    const frame: unknown = JSON.parse(data);
    if (!isObject(frame)) return undefined;
    const { id, type, payload, needsReply } = frame;
    if (typeof id !== 'string' || typeof type !== 'string' || !isObject(payload)) return undefined;
    return { id, type, payload, needsReply: needsReply === true };
  } catch {
    return undefined;
  }
}
