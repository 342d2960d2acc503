import { Inject, Injectable } from '@nestjs/common';
import { CONFIG, type Config } from '../config/config.ts';
import { Database } from '../db/database.ts';
import { RETENTION_BATCH, RetentionSweep } from '../sweep/retention.sweep.ts';
import { Sweeper } from '../sweep/sweep.ts';

const FORGET = `
  DELETE FROM idempotency_key WHERE ctid IN (
    SELECT ctid FROM idempotency_key WHERE created_at < now() - make_interval(secs => $1) ORDER BY created_at LIMIT ${RETENTION_BATCH} FOR UPDATE SKIP LOCKED)
  RETURNING 1`;

/** Forgets answers whose time is over, so that their keys may be used again. */
@Injectable()
export class IdempotencySweep extends RetentionSweep {
  constructor(@Inject(CONFIG) config: Config, @Inject(Database) database: Database, @Inject(Sweeper) sweeper: Sweeper) {
    super(database, sweeper, {
      name: 'operation.forget_answers',
      purpose: 'forget answers',
      keptSeconds: config.idempotencyHours * 3_600,
      forget: FORGET,
    });
  }
}
