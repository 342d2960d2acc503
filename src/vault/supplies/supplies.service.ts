import { Inject, Injectable } from '@nestjs/common';
import { RunTokens } from '../../identity/index.ts';
import { KEY_RING, type KeyRing } from '../../platform/crypto/key-ring.ts';
import { Log, describeError } from '../../platform/log/log.ts';
import type { OpContext } from '../../platform/operation/operation.ts';
import { RUN_TOKEN_NAME } from '../credentials/value.policy.ts';
import { valueBinding } from '../credentials/credentials.store.ts';
import { secretsOf, takesMaps, type Secrets } from './secrets.policy.ts';
import { handOutRows, pullRows, type Recipient, type SuppliedRow } from './supplies.store.ts';

/** A run as it is handed to a worker. */
export interface SuppliedRun extends Recipient {
  readonly runId: string;
  readonly attempt: number;
}

/** What goes out with a run, still sealed. */
export type Supply = readonly SuppliedRow[];

/** Why a run cannot have what is bound to its agent. */
export interface SupplyRefusal {
  /** For the run's error, after the code. */
  readonly reason: string;
  readonly detail: { readonly credential_id: string; readonly name: string; readonly why: 'disabled' | 'unopenable' };
}

/** What a worker gets outside of a run. */
export interface OnDemand {
  readonly secrets: Secrets;
  /** For the audit row: no value in it. */
  readonly detail: Readonly<Record<string, unknown>>;
  readonly isEmpty: boolean;
}

/** The action of every audit row about secrets that went out. */
export const HAND_OUT_ACTION = 'credential.hand_out';

const log = new Log('vault');

/**
 * Hands secrets to workers: with each job what is bound to its agent, on demand what is bound so. A claim takes what is in force
 * then, a run that is claimed again too; what a worker was given before nobody can take back.
 */
@Injectable()
export class SecretSupplies {
  constructor(
    @Inject(KEY_RING) private readonly keyRing: KeyRing,
    @Inject(RunTokens) private readonly tokens: RunTokens,
  ) {}

  /** In the transaction of the claim, and only where something is bound. Opens nothing yet. */
  async handOut(ctx: OpContext, run: SuppliedRun): Promise<Supply> {
    const rows = await handOutRows(ctx, run);
    if (rows.length === 0 || rows.some(isDisabled)) return rows;
    const { runId, agentId, workerId, attempt } = run;
    const detail = { agent_id: agentId, worker_id: workerId, attempt, credentials: namesOf(rows) };
    ctx.record({ action: HAND_OUT_ACTION, target: ['run', runId], outcome: 'done', detail });
    return rows;
  }

  /**
   * The secrets of a job, its run token among them; after the transaction, because opening takes a while. `textsOnly` is for
   * clients of which no version is known.
   */
  open(
    accountId: string,
    run: SuppliedRun,
    supply: Supply,
    { textsOnly = false } = {},
  ): { secrets: Secrets } | { refusal: SupplyRefusal } {
    const disabled = supply.find(isDisabled);
    if (disabled) return { refusal: refusal(disabled, 'disabled') };
    const values = supply.map((row) => ({ row, value: this.openRow(accountId, row) }));
    const opened = values.flatMap(({ row: { name }, value }) => (value === undefined ? [] : [{ name, value }]));
    const unopened = values.find(({ value }) => value === undefined);
    if (unopened) return { refusal: refusal(unopened.row, 'unopenable') };
    const token = this.tokens.issue({ accountId, ...run });
    return { secrets: { ...secretsOf(opened, !textsOnly && takesMaps(versionIn(supply))), [RUN_TOKEN_NAME]: token } };
  }

  /**
   * What a worker gets outside of a run, and what of it is to be put on record. What cannot be opened, or is disabled, is not among
   * it. `textsOnly` is for clients of which no version is known.
   */
  async onDemand(ctx: OpContext, workerId: string, { textsOnly = false } = {}): Promise<OnDemand> {
    const { accountId, id: agentId } = ctx.actor;
    const rows = (await pullRows(ctx, { agentId, workerId })).filter((row) => !isDisabled(row));
    const values = rows.flatMap((row) => {
      const value = this.openRow(accountId, row);
      return value === undefined ? [] : [{ name: row.name, value }];
    });
    const secrets = secretsOf(values, !textsOnly && takesMaps(versionIn(rows)));
    return { secrets, detail: { worker_id: workerId, credentials: namesOf(rows) }, isEmpty: rows.length === 0 };
  }

  private openRow(accountId: string, { id, version, sealed, sealed_key_id: keyId }: SuppliedRow): string | undefined {
    try {
      return this.keyRing.open({ keyId, bytes: sealed }, valueBinding(accountId, id, version));
    } catch (error) {
      log.error('a credential cannot be opened', { credential_id: id, key_id: keyId, error: describeError(error) });
      return undefined;
    }
  }
}

function namesOf(rows: Supply): object[] {
  return rows.map(({ id, name, version }) => ({ id, name, version }));
}

function isDisabled({ status }: SuppliedRow): boolean {
  return status === 'disabled';
}

function versionIn(supply: Supply): string | null {
  return supply[0]?.sdk_version ?? null;
}

function refusal({ id, name }: SuppliedRow, why: SupplyRefusal['detail']['why']): SupplyRefusal {
  const reason = why === 'disabled' ? `${name} is disabled` : `the value of ${name} cannot be opened`;
  return { reason, detail: { credential_id: id, name, why } };
}
