import { expect } from '@jest/globals';
import type { Json } from '../../support/app.ts';
import { readEvents, type StreamEvent } from '../../support/events.ts';
import { eventually } from '../../support/rest.ts';

export interface EarOptions {
  readonly key: string;
  readonly lastEventId?: string | undefined;
}

/** Somebody who listens, and what was heard. */
export class Ear {
  readonly heard: StreamEvent<Json>[] = [];
  status = 0;
  /** Resolves when the stream is over. */
  readonly done: Promise<void>;
  private readonly closing = new AbortController();

  constructor(base: string, topics: string, { key, lastEventId }: EarOptions) {
    const resumed = lastEventId === undefined ? {} : { 'last-event-id': lastEventId };
    this.done = this.listen(`${base}/api/v1/stream?topics=${topics}`, { authorization: `Bearer ${key}`, ...resumed });
  }

  of(topic: string): StreamEvent<Json>[] {
    return this.heard.filter(({ data }) => data.topic === topic);
  }

  hears(expected: object, within = 10_000): Promise<StreamEvent<Json>> {
    return eventually(
      () => {
        const found = this.heard.find((event) => {
          try {
            expect(event).toMatchObject(expected);
            return true;
          } catch {
            return false;
          }
        });
        if (!found)
          throw new Error(`not heard: ${JSON.stringify(expected)} in ${JSON.stringify(this.heard).slice(0, 3_000)}`);
        return found;
      },
      { within },
    );
  }

  get lastId(): string | undefined {
    return this.heard.at(-1)?.id;
  }

  stop(): void {
    this.closing.abort();
  }

  private async listen(url: string, headers: Readonly<Record<string, string>>): Promise<void> {
    try {
      const response = await fetch(url, { headers, signal: this.closing.signal });
      this.status = response.status;
      if (response.status !== 200) return await response.body?.cancel();
      for await (const event of readEvents(response.body as AsyncIterable<Uint8Array>))
        this.heard.push(event as StreamEvent<Json>);
    } catch (error) {
      if (!this.closing.signal.aborted) throw error;
    }
  }
}
