import { wireTime, type Clock } from '../../platform/clock/clock.ts';
import type { StreamEvent } from '../stream/projection.policy.ts';
import type { Voice } from '../stream/voice.stream.ts';
import { shortName } from './cursor.policy.ts';
import type { Listener } from './listener.stream.ts';

/** Tells a run's own stream as one topic of many: the same events with the same numbers, in an envelope. */
export class RunVoice implements Voice {
  private readonly listener: Listener;
  private readonly runId: string;
  private readonly clock: Clock;
  private readonly name: string;
  private isSilent = false;

  constructor(listener: Listener, runId: string, clock: Clock) {
    this.listener = listener;
    this.runId = runId;
    this.clock = clock;
    this.name = shortName(runId);
  }

  get isOver(): boolean {
    return this.isSilent || this.listener.isOver;
  }

  say({ id: seq, event, data }: StreamEvent): Promise<boolean> {
    if (this.isOver) return Promise.resolve(false);
    const topic = `run:${this.runId}`;
    const at = wireTime(this.clock.now());
    const change = { topic, kind: 'appended' as const, id: this.runId, at, event, view: data };
    return this.listener.say(change, { run: this.name, seq });
  }

  /** That this replica leaves, the shared stream says for all its topics. */
  async sayFarewell({ event, data }: StreamEvent): Promise<boolean> {
    if (event === 'error' && 'code' in data) this.listener.refuse(`run:${this.runId}`, String(data.code));
    return true;
  }

  end(): void {
    this.isSilent = true;
  }

  keepAlive(): void {}
}
