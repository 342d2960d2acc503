import { Inject, Injectable } from '@nestjs/common';
import { accountKey } from '../../platform/bus/keys.ts';
import { Clock, wireTime } from '../../platform/clock/clock.ts';
import { CONFIG, type Config } from '../../platform/config/config.ts';
import type { In, OpContext, Out } from '../../platform/operation/operation.ts';
import { Presence } from '../presence/presence.service.ts';
import type { beat } from './heartbeats.contract.ts';
import { hasSaid } from './registration.store.ts';
import { WorkerRegistration } from './registration.service.ts';
import { saidBy, type Said } from './said.policy.ts';

/** Beyond it everything is forgotten, and compared with the rows at the next beat. */
const REMEMBERED_MAX = 50_000;

interface Remembered {
  readonly said: Buffer;
  readonly tokenId: string;
  at: number;
}

/**
 * How workers of SDK 0.1 say that they are there: with everything about themselves, every ten seconds. What a worker said
 * last is remembered, here and in its row, so that a beat which says nothing new costs no statement.
 */
@Injectable()
export class Heartbeats {
  private readonly remembered = new Map<string, Remembered>();

  constructor(
    @Inject(WorkerRegistration) private readonly registration: WorkerRegistration,
    @Inject(Presence) private readonly presence: Presence,
    @Inject(Clock) private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /** @throws Fault as a registration does. */
  async beat(ctx: OpContext, input: In<typeof beat>): Promise<Out<typeof beat>> {
    const said = saidBy(input);
    const heardAt = (await this.isRepeated(ctx, said)) ? this.note(ctx, said) : await this.takeIn(ctx, said);
    return {
      agent_id: ctx.actor.id,
      worker_id: said.workerId,
      status: 'online',
      last_heartbeat_at: wireTime(heardAt),
      mcp_group_name: null,
    };
  }

  private note(ctx: OpContext, { workerId }: Said): Date {
    this.presence.heard(ctx.actor, workerId, 'heartbeat');
    return ctx.now;
  }

  private async takeIn(ctx: OpContext, said: Said): Promise<Date> {
    const { last_heartbeat_at } = await this.registration.takeIn(ctx, said);
    this.remember(ctx, said);
    return new Date(last_heartbeat_at);
  }

  /** In memory only for as long as nobody can have forgotten the worker: who is lost may be forgotten at once. */
  private async isRepeated(ctx: OpContext, said: Said): Promise<boolean> {
    const known = this.remembered.get(keyOf(ctx, said));
    const now = this.clock.monotonicMs();
    if (known && now - known.at < this.config.closedLostSeconds * 1_000 && isSame(known, ctx, said)) {
      known.at = now;
      return true;
    }
    const window = this.config.heartbeatWindowSeconds;
    if (!(await ctx.briefly((inner) => hasSaid(inner, said, window), 'perhaps'))) return false;
    this.remember(ctx, said);
    return true;
  }

  private remember(ctx: OpContext, said: Said): void {
    if (this.remembered.size >= REMEMBERED_MAX) this.remembered.clear();
    const { credentialId: tokenId } = ctx.actor;
    this.remembered.set(keyOf(ctx, said), { said: said.digest, tokenId, at: this.clock.monotonicMs() });
  }
}

function keyOf({ actor }: OpContext, { workerId }: Said): string {
  return `${accountKey(actor.accountId, actor.id)}/${workerId}`;
}

function isSame(known: Remembered, { actor }: OpContext, { digest }: Said): boolean {
  return known.tokenId === actor.credentialId && known.said.equals(digest);
}
