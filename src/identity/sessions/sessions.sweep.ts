import { Inject, Injectable } from '@nestjs/common';
import { Database } from '../../platform/db/database.ts';
import { RETENTION_BATCH, RetentionSweep } from '../../platform/sweep/retention.sweep.ts';
import { Sweeper } from '../../platform/sweep/sweep.ts';

/** So long it can still be told why a session is refused. */
const KEPT_SECONDS = 24 * 3_600;

/** By its end, which no session outlives: one that was ended before is gone with it. */
const FORGET = `
  DELETE FROM session WHERE id IN (
    SELECT id FROM session WHERE expires_at <= now() - make_interval(secs => $1)
     ORDER BY expires_at LIMIT ${RETENTION_BATCH} FOR UPDATE SKIP LOCKED)
  RETURNING 1`;

/** Deletes the rows of sessions that ended long ago. */
@Injectable()
export class SessionSweep extends RetentionSweep {
  constructor(@Inject(Database) database: Database, @Inject(Sweeper) sweeper: Sweeper) {
    super(database, sweeper, {
      name: 'identity.forget_sessions',
      purpose: 'forget sessions',
      keptSeconds: KEPT_SECONDS,
      forget: FORGET,
    });
  }
}
