import { Inject, Injectable } from '@nestjs/common';
import { CONFIG, type Config } from '../../platform/config/config.ts';
import { Database } from '../../platform/db/database.ts';
import { RETENTION_BATCH, RetentionSweep } from '../../platform/sweep/retention.sweep.ts';
import { Sweeper } from '../../platform/sweep/sweep.ts';

const FORGET = `
  UPDATE api_key SET sealed = NULL, sealed_key_id = NULL
   WHERE (account_id, id) IN (
     SELECT account_id, id FROM api_key WHERE sealed IS NOT NULL AND created_at <= now() - make_interval(secs => $1)
      ORDER BY created_at LIMIT ${RETENTION_BATCH} FOR UPDATE SKIP LOCKED)
  RETURNING 1`;

/** Deletes the sealed copies of keys whose time is over: what may not be shown any more is not kept either. */
@Injectable()
export class SealedKeySweep extends RetentionSweep {
  constructor(@Inject(CONFIG) config: Config, @Inject(Database) database: Database, @Inject(Sweeper) sweeper: Sweeper) {
    super(database, sweeper, {
      name: 'identity.forget_sealed_keys',
      purpose: 'forget sealed keys',
      keptSeconds: config.keyRevealMinutes * 60,
      forget: FORGET,
    });
  }
}
