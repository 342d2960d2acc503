import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { StartRefused } from '../../platform/config/config.ts';
import { Clock } from '../../platform/clock/clock.ts';
import { KEY_RING, type KeyRing } from '../../platform/crypto/key-ring.ts';
import { Database } from '../../platform/db/database.ts';
import { invariant } from '../../platform/faults/faults.ts';
import { newId } from '../../platform/ids/ids.ts';
import { Log } from '../../platform/log/log.ts';
import type { In, OpContext, Out } from '../../platform/operation/operation.ts';
import { asSystemWork, type SystemContext } from '../../platform/operation/system-work.ts';
import { Replica } from '../../platform/replica/replica.ts';
import { Sweeper } from '../../platform/sweep/sweep.ts';
import { keyView, rotationView } from './key-view.policy.ts';
import type { getKeyRotation, listVaultKeys, rotateVaultKey } from './keys.contract.ts';
import { KeyRotationNotFound, KeyRotationRunning, VaultKeyNotShared, VaultKeyNotWritable } from './keys.faults.ts';
import {
  activateKey,
  countUnder,
  findActiveKey,
  findRotation,
  findUnused,
  isRotating,
  listKeyRows,
  lockKeys,
  registerKeys,
  type RotationRow,
} from './keys.store.ts';

/** The sweep that seals again what is sealed with another key than the one in use. */
export const SEAL_AGAIN = 'vault.seal_again';

const log = new Log('vault');

/**
 * Which key of the ring seals. The installation decides that, in one row, and every replica follows: a new key is taken into
 * use only when every live replica knows it, so that what one seals the others open. The keys themselves stay where they are.
 */
@Injectable()
export class VaultKeys implements OnApplicationBootstrap {
  /** The key that this ring's writer wants was in use once, and is not taken into use again by itself. */
  private isWishOver = false;

  constructor(
    @Inject(KEY_RING) private readonly keyRing: KeyRing,
    @Inject(Database) private readonly database: Database,
    @Inject(Replica) private readonly replica: Replica,
    @Inject(Sweeper) private readonly sweeper: Sweeper,
    @Inject(Clock) private readonly clock: Clock,
  ) {
    replica.announceKeys(keyRing.ids); // before the first sign of life
  }

  /** @throws StartRefused where others seal with a key that this process does not have. */
  async onApplicationBootstrap(): Promise<void> {
    await registerKeys(this.database, this.keyRing.ids, this.keyRing.wanted);
    const active = await findActiveKey(this.database);
    if (active !== undefined && !this.keyRing.has(active)) throw new StartRefused(unknownKey(active));
    await this.follow();
  }

  /** Does what the installation decided: seals with its key. Answers it; undefined where this process does not have it. */
  async follow(): Promise<string | undefined> {
    const active = await findActiveKey(this.database);
    if (active === undefined || active === this.keyRing.active) return active;
    if (!this.keyRing.has(active)) {
      log.error(unknownKey(active));
      return undefined;
    }
    this.take(active);
    return active;
  }

  async list(): Promise<Out<typeof listVaultKeys>> {
    await this.follow();
    const { active, source } = this.keyRing;
    return (await listKeyRows(this.database)).map((row) => keyView(row, active, source));
  }

  async rotation(ctx: OpContext, { rotation_id }: In<typeof getKeyRotation>): Promise<Out<typeof getKeyRotation>> {
    const row = await findRotation(ctx, rotation_id);
    if (!row) throw KeyRotationNotFound();
    return rotationView(row);
  }

  /** @throws Fault 409 while another rotation runs, where no new key can be made, and where a live replica does not know it. */
  async rotate(ctx: OpContext, { reason = null }: In<typeof rotateVaultKey>): Promise<Out<typeof rotateVaultKey>> {
    await lockKeys(ctx);
    if (await isRotating(ctx)) throw KeyRotationRunning();
    const [prepared] = await findUnused(ctx, this.keyRing.ids);
    if (prepared === undefined && this.keyRing.source === 'environment') throw VaultKeyNotWritable();
    const newKey = prepared ?? (await this.make());
    if ((await this.replica.othersWithoutKey(newKey)) > 0) throw VaultKeyNotShared();
    const row = await this.begin(ctx, newKey, ctx.actor.id);
    ctx.note({ target_id: newKey, rotation_id: row.id, from_key: row.from_key, to_key: newKey, reason });
    return rotationView(row);
  }

  /** Takes into use the key that the ring's writer wants, once every live replica knows it. What was in use once stays behind. */
  async adopt(): Promise<void> {
    const { wanted, active } = this.keyRing;
    if (wanted === active || this.isWishOver) return;
    await asSystemWork(this.database, 'take a key into use', async (ctx) => {
      await lockKeys(ctx);
      this.isWishOver = (await findUnused(ctx, [wanted])).length === 0;
      if (this.isWishOver || (await isRotating(ctx)) || (await this.replica.othersWithoutKey(wanted)) > 0) return;
      await this.begin(ctx, wanted, 'system');
    });
  }

  /** Where others live they cannot know a key that is made here: then none is made. */
  private async make(): Promise<string> {
    if ((await this.replica.othersWithoutKey('')) > 0) throw VaultKeyNotShared();
    const id = this.keyRing.create();
    this.replica.announceKeys(this.keyRing.ids);
    return id;
  }

  private async begin(ctx: SystemContext, toKey: string, startedBy: string): Promise<RotationRow> {
    const total = await countUnder(this.database, toKey);
    const id = newId('keyRotation', this.clock.nowMs());
    const row = await activateKey(ctx, { id, fromKey: this.keyRing.active, toKey, total, startedBy });
    invariant(row, 'a rotation that was just begun is there');
    ctx.afterCommit(() => {
      this.take(toKey);
      this.keyRing.keepChoice();
      void this.sweeper.now(SEAL_AGAIN);
    });
    return row;
  }

  private take(keyId: string): void {
    this.keyRing.use(keyId);
    log.info('another key seals', { key_id: keyId });
  }
}

function unknownKey(id: string): string {
  return `Values are sealed with the key ${id}, which neither SIGNALBOX_KEYS nor keys.json of this process has`;
}
