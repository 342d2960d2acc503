import { Inject, Injectable } from '@nestjs/common';
import { RunStreams } from '../../evidence/index.ts';
import { CONFIG, type Config } from '../../platform/config/config.ts';
import { later, type Later } from '../../platform/operation/later.ts';
import type { In, OpContext, Out } from '../../platform/operation/operation.ts';
import { RunLifecycle, RunWatch, type RunRow } from '../../runs/index.ts';
import type { invokeAgent } from './invoke.contract.ts';

type Answer = Out<typeof invokeAgent>;

/** What a repeated call with the same idempotency key finds: the run that the first one made. */
interface Memo {
  readonly run_id: string;
}

/** Asks an agent and waits. The run is committed before the waiting begins, and goes on whatever becomes of the caller. */
@Injectable()
export class Invoke {
  constructor(
    @Inject(RunLifecycle) private readonly runs: RunLifecycle,
    @Inject(RunWatch) private readonly watch: RunWatch,
    @Inject(RunStreams) private readonly streams: RunStreams,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  async run(ctx: OpContext, request: In<typeof invokeAgent>): Promise<Later<Answer>> {
    if (request.stream) this.streams.assertFree(ctx.actor); // before the run is made: afterwards no refusal may come
    const run = await this.runOf(ctx, request);
    const runId = typeof run === 'string' ? run : run.id;
    const finish = async (): Promise<Answer> => {
      if (request.stream) return this.streams.open(ctx, runId, { isAdmitted: true, capability: 'agent.invoke' });
      return toAnswer(await this.watch.untilEnd(ctx, run, this.config.invokeWaitSeconds));
    };
    return later<Answer>(finish, { run_id: runId } satisfies Memo);
  }

  /** The run that was made in this very moment; or the id of the one that an equal call made. */
  private async runOf(ctx: OpContext, request: In<typeof invokeAgent>): Promise<RunRow | string> {
    const repeated = ctx.repeated as Memo | undefined;
    if (repeated) return repeated.run_id;
    const { agent_id: agentRef, input, channel, event_id: eventId, metadata, usage, labels, require, stream } = request;
    const transport = stream ? 'api_sse' : 'api_sync';
    return this.runs.order(ctx, {
      agentRef,
      input,
      channel,
      eventId,
      metadata,
      usage,
      labels,
      require,
      transport,
      origin: { kind: 'rest', id: null },
    });
  }
}

function toAnswer({ id, event_id, agent_id, status, output, error, usage, is_withheld }: RunRow): Answer {
  const withheld = is_withheld ? { content_withheld: true } : {};
  return { run_id: id, event_id, agent_id, status, output, error, usage: { ...usage }, ...withheld };
}
