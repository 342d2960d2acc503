import { Injectable } from '@nestjs/common';
import { accountKey } from '../../platform/bus/keys.ts';
import { ClientManners } from '../../platform/operation/ports.ts';
import type { Dialect } from '../registration/dialect.policy.ts';

/** Beyond it everything is forgotten, and learned again when those workers are next heard. */
const REMEMBERED_MAX = 50_000;

/**
 * Which workers wait before they ask again after a failure: 0.3 and later do (worker-protocol.md §21). It is asked when the
 * rows cannot be, so what registrations and rows have said is kept in memory; whoever is not in it is taken for 0.2.
 */
@Injectable()
export class Manners extends ClientManners {
  private readonly patient = new Map<string, boolean>();

  override isPatient(accountId: string, workerId: string): boolean {
    return this.patient.get(accountKey(accountId, workerId)) ?? false;
  }

  isKnown(accountId: string, workerId: string): boolean {
    return this.patient.has(accountKey(accountId, workerId));
  }

  note(accountId: string, workerId: string, dialect: Dialect): void {
    if (this.patient.size >= REMEMBERED_MAX) this.patient.clear();
    this.patient.set(accountKey(accountId, workerId), dialect === '0.3');
  }
}
