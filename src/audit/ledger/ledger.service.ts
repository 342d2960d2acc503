import { Inject, Injectable } from '@nestjs/common';
import { Clock } from '../../platform/clock/clock.ts';
import { Database } from '../../platform/db/database.ts';
import type { Statement } from '../../platform/db/transaction.ts';
import { newId } from '../../platform/ids/ids.ts';
import { Log, describeError } from '../../platform/log/log.ts';
import { auditCategory, type Area } from '../../platform/operation/areas.ts';
import { areaOf, auditOf, type AuditEntry } from '../../platform/operation/operation.ts';
import { AuditTrail, type Deed, type Outcome, type StrangersAttempt } from '../../platform/operation/ports.ts';
import { Strangers } from '../strangers/strangers.service.ts';
import { entryRow, type Entry } from './ledger.store.ts';

/** Something that the program itself did, without a caller. */
export interface SystemDeed {
  readonly accountId: string;
  readonly area: Area;
  readonly action: string;
  readonly operation: string;
  readonly target: readonly [kind: string, id: string];
  readonly detail: object;
  /** Whose deed it was after all, where no operation's transaction has it on record: a sign-in. */
  readonly by?: Pick<Entry, 'actorKind' | 'actorId' | 'requestId' | 'address'>;
}

/** Puts deeds on record. There is no way to change or remove what it wrote; the database refuses both. */
@Injectable()
export class AuditLedger extends AuditTrail {
  private readonly log = new Log('audit');

  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Strangers) private readonly strangers: Strangers,
    @Inject(Clock) private readonly clock: Clock,
  ) {
    super();
  }

  row(deed: Deed, outcome: Outcome, note: object): Statement | undefined {
    const audit = auditOf(deed.op);
    if (!audit) return undefined;
    const { target_id: learnt, ...noted } = note as { readonly target_id?: unknown };
    const [kind, named] = deed.input ? audit.target(deed.input) : ['', ''];
    const target = [kind, typeof learnt === 'string' ? learnt : named] as const;
    return entryRow(this.entryOf(deed, { action: audit.action, target, outcome, detail: noted }));
  }

  furtherRow(deed: Deed, entry: AuditEntry): Statement {
    return entryRow(this.entryOf(deed, entry));
  }

  async record(deed: Deed, outcome: Outcome, note: object): Promise<void> {
    const { op, actor, requestId } = deed;
    try {
      const row = this.row(deed, outcome, note);
      if (row) await this.database.asAccount(actor.accountId, (transaction) => transaction.query(row));
    } catch (error) {
      const fields = { operation: op.id, outcome, request_id: requestId, error: describeError(error) };
      this.log.error('a refusal or failure is not on record', fields);
    }
  }

  recordStranger(attempted: StrangersAttempt): void {
    this.strangers.record(attempted);
  }

  /** The row of system work, for the transaction that does it. */
  systemRow({ area, by, ...deed }: SystemDeed): Statement {
    return entryRow({
      ...deed,
      id: this.newId(),
      category: auditCategory(area, deed.action),
      outcome: 'done',
      actorKind: 'system',
      actorId: null,
      impersonatorId: null,
      requestId: '',
      address: null,
      ...by,
    });
  }

  private entryOf(deed: Deed, said: Pick<Entry, 'action' | 'target' | 'outcome' | 'detail'>): Entry {
    const { op, actor, requestId, address } = deed;
    return {
      ...said,
      id: this.newId(),
      accountId: actor.accountId,
      category: auditCategory(areaOf(op), said.action),
      operation: op.id,
      actorKind: actor.kind,
      actorId: actor.kind === 'anonymous' ? null : actor.id,
      impersonatorId: actor.impersonator?.principalId ?? null,
      requestId,
      address,
      detail: actor.credentialId === '' ? said.detail : { ...said.detail, credential_id: actor.credentialId },
    };
  }

  private newId(): string {
    return newId('audit', this.clock.nowMs());
  }
}
