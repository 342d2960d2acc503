import { Inject, Injectable } from '@nestjs/common';
import { Clock } from '../../platform/clock/clock.ts';
import { Fault } from '../../platform/faults/faults.ts';
import { alteredByItem, type JsonObject } from '../../platform/json/json.ts';
import type { In, OpContext } from '../../platform/operation/operation.ts';
import { RunNotFound } from '../../runs/index.ts';
import type { flushEvents } from './flush.contract.ts';
import { partsOf, readFlush, type LeftOut, type RunPart } from './flush.policy.ts';
import { EventIntake, refuseTooMany } from './intake.service.ts';

/** These workers wait 10 s for an answer. They send a batch again three times at most, which is soon over. */
const HELD_MS = 6_000;

/** Takes what SDK 0.1 flushes: each run’s part by itself, as if it had come alone. */
@Injectable()
export class Flushes {
  constructor(
    @Inject(EventIntake) private readonly intake: EventIntake,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  /** A failure refuses the whole: what was kept is known when it comes again. */
  async take(ctx: OpContext, { body }: In<typeof flushEvents>): Promise<JsonObject> {
    const request = readFlush(body);
    if ('error' in request) return { jsonrpc: '2.0', ...request };
    const { id, workerId, events } = request;
    refuseTooMany(events);
    const altered = alteredByItem(ctx.altered, ['params', 'events']);
    const { parts, leftOut } = partsOf(events, (index) => altered.get(index));
    const refused = [...leftOut];
    const until = this.clock.monotonicMs() + HELD_MS;
    const failures: unknown[] = [];
    for (const part of parts) {
      try {
        refused.push(...(await this.takePart(ctx, workerId, part, until)));
      } catch (error) {
        failures.push(error); // the parts of other runs are kept all the same
        if (this.clock.monotonicMs() >= until) break;
      }
    }
    if (failures.length > 0) return Promise.reject(failures[0]);
    refused.sort((a, b) => a.index - b.index);
    return { jsonrpc: '2.0', id, result: { events: events.length - refused.length, refused } };
  }

  /** What of it was left out beside what cannot be an event. */
  private async takePart(ctx: OpContext, workerId: string, part: RunPart, until: number): Promise<LeftOut[]> {
    try {
      await this.intake.takePart(ctx, { runId: part.runId, workerId }, part, until - this.clock.monotonicMs());
      return [];
    } catch (error) {
      if (!(error instanceof Fault && error.type === RunNotFound)) throw error;
      return part.indexes.map((index) => ({ index, code: 'event.unknown_run' }));
    }
  }
}
