import { Inject, Injectable } from '@nestjs/common';
import { CONFIG, type Config } from '../../platform/config/config.ts';
import { Database } from '../../platform/db/database.ts';
import { Outbound } from '../../platform/outbound/outbound.ts';
import { endpointsInUse } from './direct.store.ts';

/** Which of the addresses that workers gave may be called. */
@Injectable()
export class Endpoints {
  constructor(
    @Inject(CONFIG) private readonly config: Config,
    @Inject(Database) private readonly database: Database,
    @Inject(Outbound) private readonly outbound: Outbound,
  ) {}

  /** Of the workers that are there, or were a moment ago. What their names resolve to is seen when they are called. */
  async dialable(): Promise<string[]> {
    const urls = await endpointsInUse(this.database, this.config);
    return urls.filter((url) => this.outbound.exclusionOf(url) === undefined);
  }
}
