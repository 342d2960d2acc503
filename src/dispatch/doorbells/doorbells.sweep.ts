import { Inject, Injectable } from '@nestjs/common';
import { CONFIG, type Config } from '../../platform/config/config.ts';
import { Database } from '../../platform/db/database.ts';
import { Sweeper, type Sweep, type SweepReport } from '../../platform/sweep/sweep.ts';
import { Claims } from '../claims/claims.service.ts';
import { Channels } from '../../workers/index.ts';
import { WAITING_OF, type WaitingAgent } from '../routing/routing.store.ts';

/** Behind every doorbell that was lost: rings for runs that wait although a worker of their agent hangs here, free. */
@Injectable()
export class DoorbellSweep implements Sweep {
  readonly name = 'dispatch.doorbells';
  readonly everyMs: number;

  constructor(
    @Inject(CONFIG) config: Config,
    @Inject(Database) private readonly database: Database,
    @Inject(Claims) private readonly claims: Claims,
    @Inject(Channels) private readonly channels: Channels,
    @Inject(Sweeper) sweeper: Sweeper,
  ) {
    this.everyMs = config.sweepSeconds * 1_000;
    sweeper.add(this);
  }

  async run(): Promise<SweepReport> {
    const agents = this.channels.agentsHere();
    if (agents.length === 0) return { rung: 0 };
    const values = [agents.map(({ accountId }) => accountId), agents.map(({ agentId }) => agentId)];
    const waiting = await this.database.asSystem('look for waiting runs', (system) =>
      system.query<WaitingAgent>({ text: WAITING_OF, values }),
    );
    let rung = 0;
    for (const { account_id, agent_id, count } of waiting) {
      this.claims.lookAgain(account_id, agent_id);
      rung += this.channels.ring(account_id, agent_id, count);
    }
    return { rung };
  }
}
