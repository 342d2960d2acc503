import { Inject, Injectable } from '@nestjs/common';
import { KEY_RING, type KeyRing } from '../../platform/crypto/key-ring.ts';
import { Database } from '../../platform/db/database.ts';
import { Log, describeError } from '../../platform/log/log.ts';
import { Sweeper, type Sweep, type SweepReport } from '../../platform/sweep/sweep.ts';
import { SEAL_AGAIN, VaultKeys } from './keys.service.ts';
import { SEALED_TABLES, countUnder, finishRotation, pickSealed, replaceSealed, type SealedRow } from './keys.store.ts';

const BATCH = 100;
/** Named in the error of a rotation; the log has them all. */
const NAMED = 5;
const REMEMBERED_MAX = 10_000;

const log = new Log('vault');

/**
 * Seals again whatever is not sealed with the key in use. It asks the rows, not a rotation: a process that is killed leaves whole
 * batches behind, whatever replica looks next goes on, and what was sealed with the older key meanwhile is found too.
 */
@Injectable()
export class SealAgainSweep implements Sweep {
  readonly name = SEAL_AGAIN;
  readonly everyMs = 5_000;
  /** Values that no key of this process opens, by their binding. They stay as they are, and are not tried again. */
  private readonly unopenable = new Set<string>();

  constructor(
    @Inject(KEY_RING) private readonly keyRing: KeyRing,
    @Inject(VaultKeys) private readonly keys: VaultKeys,
    @Inject(Database) private readonly database: Database,
    @Inject(Sweeper) sweeper: Sweeper,
  ) {
    sweeper.add(this);
  }

  async run(): Promise<SweepReport> {
    if ((await this.keys.follow()) === undefined) return {};
    await this.keys.adopt();
    const { active } = this.keyRing;
    let sealed = 0;
    if ((await countUnder(this.database, active)) > this.unopenable.size)
      for (const table of SEALED_TABLES.keys()) sealed += await this.sealTable(table, active);
    const left = await countUnder(this.database, active);
    if (left <= this.unopenable.size) await finishRotation(this.database, active, this.errorFor(left));
    return { sealed };
  }

  private async sealTable(table: number, active: string): Promise<number> {
    for (let sealed = 0; ;) {
      const done = await this.sealBatch(table, active);
      sealed += done.sealed;
      if (!done.hasMore) return sealed;
    }
  }

  private sealBatch(table: number, active: string): Promise<{ readonly sealed: number; readonly hasMore: boolean }> {
    const unopenable = [...this.unopenable];
    return this.database.asSystem('seal again', async (system) => {
      const rows = await pickSealed(system, table, { active, unopenable, limit: BATCH });
      const known = this.unopenable.size;
      const again = rows.flatMap((row) => this.sealAgain(row, active) ?? []);
      if (again.length > 0) await replaceSealed(system, table, active, again);
      const isFurther = again.length > 0 || this.unopenable.size > known;
      return { sealed: again.length, hasMore: rows.length === BATCH && isFurther };
    });
  }

  private sealAgain(row: SealedRow, active: string): { readonly row: SealedRow; readonly bytes: Buffer } | undefined {
    const { sealed: bytes, key_id: keyId, binding } = row;
    try {
      return { row, bytes: this.keyRing.seal(this.keyRing.open({ keyId, bytes }, binding), binding, active).bytes };
    } catch (error) {
      if (this.unopenable.size < REMEMBERED_MAX) this.unopenable.add(binding);
      log.error('a value cannot be opened, and stays sealed as it is', {
        ...{ value: binding, key_id: keyId, error: describeError(error) },
      });
      return undefined;
    }
  }

  private errorFor(left: number): string | null {
    if (left === 0) return null;
    return `${left} values cannot be opened: ${[...this.unopenable].slice(0, NAMED).join(', ')}`;
  }
}
