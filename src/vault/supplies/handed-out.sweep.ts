import { Inject, Injectable } from '@nestjs/common';
import { CONFIG, type Config } from '../../platform/config/config.ts';
import { Database } from '../../platform/db/database.ts';
import { RETENTION_BATCH, forgetInBatches } from '../../platform/sweep/retention.sweep.ts';
import { Sweeper, type Sweep, type SweepReport } from '../../platform/sweep/sweep.ts';

const LONG_AGO = 'now() - make_interval(secs => $1)';

/** Of runs that ended long ago. */
const HANDOUTS = `
  DELETE FROM credential_handout WHERE (account_id, run_id, credential_id, version) IN (
    SELECT h.account_id, h.run_id, h.credential_id, h.version FROM credential_handout h
     WHERE h.handed_out_at < ${LONG_AGO} AND NOT EXISTS (
       SELECT FROM run_facts r WHERE r.account_id = h.account_id AND r.id = h.run_id AND (r.finished_at IS NULL OR r.finished_at >= ${LONG_AGO}))
     ORDER BY h.handed_out_at LIMIT ${RETENTION_BATCH})
  RETURNING 1`;
/** Of workers that were forgotten, and of tokens that open nothing: what they hold went with their process. */
const PULLS = `
  DELETE FROM credential_pull WHERE (account_id, agent_id, worker_id, credential_id, version) IN (
    SELECT p.account_id, p.agent_id, p.worker_id, p.credential_id, p.version FROM credential_pull p
     WHERE p.pulled_at < ${LONG_AGO} AND NOT EXISTS (
       SELECT FROM worker_presence w WHERE w.account_id = p.account_id AND w.id = p.worker_id) AND NOT EXISTS (
       SELECT FROM worker_token_state t WHERE t.account_id = p.account_id AND t.id = p.worker_id AND t.is_valid)
     LIMIT ${RETENTION_BATCH})
  RETURNING 1`;
/** Handed out no more, and nobody who has it can be heard. A claim that read it a moment ago has noted it long before its time is over. */
const VALUES = `
  DELETE FROM credential_value WHERE (account_id, credential_id, version) IN (
    SELECT v.account_id, v.credential_id, v.version FROM credential_value v
     WHERE coalesce(v.superseded_at, v.created_at) < ${LONG_AGO}
       AND NOT EXISTS (SELECT FROM credential c WHERE c.account_id = v.account_id AND c.id = v.credential_id AND c.active_version = v.version)
       AND NOT EXISTS (SELECT FROM credential_handout h WHERE h.account_id = v.account_id AND h.credential_id = v.credential_id AND h.version = v.version)
       AND NOT EXISTS (SELECT FROM credential_pull p WHERE p.account_id = v.account_id AND p.credential_id = v.credential_id AND p.version = v.version)
     LIMIT ${RETENTION_BATCH})
  RETURNING 1`;
const STEPS = { handouts: HANDOUTS, pulls: PULLS, values: VALUES };
/** A claim takes seconds at most; a value must outlive the one that is just reading it. */
const LEAST_SECONDS = 30;

/** Forgets who was given what once nobody can echo it any more, and then the values that were kept for that. */
@Injectable()
export class HandedOutSweep implements Sweep {
  readonly name = 'vault.forget_handed_out';
  readonly everyMs = 60_000;

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    @Inject(Database) private readonly database: Database,
    @Inject(Sweeper) sweeper: Sweeper,
  ) {
    sweeper.add(this);
  }

  async run(): Promise<SweepReport> {
    const keptSeconds = this.config.handedOutKeptHours * 3_600;
    const forgotten: Record<string, number> = {};
    for (const [what, text] of Object.entries(STEPS)) forgotten[what] = await this.forget(text, keptSeconds);
    return forgotten;
  }

  private async forget(text: string, keptSeconds: number): Promise<number> {
    const seconds = text === VALUES ? Math.max(keptSeconds, LEAST_SECONDS) : keptSeconds;
    const statement = { text, values: [seconds] };
    return forgetInBatches(
      async () =>
        (await this.database.asSystem('forget what was handed out', (system) => system.query(statement))).length,
    );
  }
}
