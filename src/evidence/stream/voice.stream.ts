import { serverSentEvent } from '../../platform/http/live-stream.ts';
import type { Outflow } from './outflow.stream.ts';
import type { StreamEvent } from './projection.policy.ts';

/** Through what the events of a run reach a reader: a stream of their own, or one that they share with others. */
export interface Voice {
  readonly isOver: boolean;
  /** Resolves when the reader has room for more. False: it is gone, or was cut off. */
  say(event: StreamEvent): Promise<boolean>;
  /** The last word of somebody who is sent away; not of the run's own. */
  sayFarewell(event: StreamEvent): Promise<boolean>;
  end(): void;
  keepAlive(): void;
}

/** A stream of the run's own. */
export class OwnVoice implements Voice {
  private readonly out: Outflow;

  constructor(out: Outflow) {
    this.out = out;
  }

  get isOver(): boolean {
    return this.out.isOver;
  }

  say({ id, event, data }: StreamEvent): Promise<boolean> {
    return this.out.write(serverSentEvent(event, JSON.stringify(data), id));
  }

  sayFarewell(event: StreamEvent): Promise<boolean> {
    return this.say(event);
  }

  end(): void {
    this.out.end();
  }

  keepAlive(): void {
    this.out.keepAlive();
  }
}
