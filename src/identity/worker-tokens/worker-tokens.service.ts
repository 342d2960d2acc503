import { Inject, Injectable } from '@nestjs/common';
import { wireTime } from '../../platform/clock/clock.ts';
import { CONFIG, type Config } from '../../platform/config/config.ts';
import { hashOf, newSecret } from '../../platform/crypto/secrets.ts';
import { invalid } from '../../platform/faults/faults.ts';
import { newId } from '../../platform/ids/ids.ts';
import { later, type Later } from '../../platform/operation/later.ts';
import type { In, OpContext, Out } from '../../platform/operation/operation.ts';
import { CredentialWatch } from '../watch/watch.service.ts';
import type {
  listWorkerTokens,
  revokeWorkerToken,
  rotateWorkerToken,
  workerTokenStatus,
} from './worker-tokens.contract.ts';
import { WorkerTokenRevoked } from './worker-tokens.events.ts';
import { hintOf } from './worker-tokens.policy.ts';
import {
  findToken,
  insertToken,
  listTokens,
  lockTokens,
  resolveAgent,
  revokeToken,
  type Named,
  type TokenOfAgentRow,
  type TokenRow,
} from './worker-tokens.store.ts';

type Summary = Out<typeof listWorkerTokens>[number];
type Created = Out<typeof rotateWorkerToken>;

/** A token, this once, and whose it is. */
export interface IssuedToken extends Named {
  readonly token: string;
  readonly hint: string;
  readonly expiresAt: string | null;
  /** Called after the commit: resolves when no replica takes the token before this one any more. */
  readonly settled: () => Promise<void>;
}

/** What lets workers speak for an agent. A handle has at most one valid token; an agent need not exist for it. */
@Injectable()
export class WorkerTokens {
  constructor(
    @Inject(CredentialWatch) private readonly watch: CredentialWatch,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  async rotate(ctx: OpContext, wanted: In<typeof rotateWorkerToken>): Promise<Later<Created>> {
    const { agentId: name, credentialRef, ttlSeconds = null } = wanted;
    if (typeof credentialRef === 'string') {
      throw invalid(['body', 'credentialRef'], 'There is no such credential', 'unknown_reference');
    }
    const { token, hint, expiresAt, settled } = await this.issue(ctx, name, ttlSeconds);
    return later(async () => {
      await settled();
      return { token, agentId: name, workerTokenHint: hint, expiresAt };
    });
  }

  /** A new token in place of the one that the handle may have, which is dead with the commit. Belongs last in a transaction. */
  async issue(ctx: OpContext, name: string, ttlSeconds: number | null): Promise<IssuedToken> {
    const { handle, agentId } = await this.reserve(ctx, name);
    const before = await revokeToken(ctx, handle);
    const [id, token] = [newId('workerToken', ctx.now.getTime()), newSecret('swt')];
    const made = { id, handle, agentId, secretHash: hashOf(token), isRotation: before !== undefined, ttlSeconds };
    const expiresAt = wireTimeOrNull(await insertToken(ctx, made));
    ctx.note({ target_id: agentId, handle, token_id: id, rotated_token_id: before?.id ?? null, expires_at: expiresAt });
    const issued = { handle, agentId, token, hint: hintOf(token), expiresAt };
    if (!before) return { ...issued, settled: async () => {} };
    WorkerTokenRevoked.publish(ctx, { token_id: before.id, agent_id: before.agentId });
    const version = await this.watch.change(ctx);
    return { ...issued, settled: () => this.watch.settled(version) };
  }

  /**
   * The handle and the id of whom a text means; a text that means nobody is the handle of an agent that gets this id when it
   * is made. Until the end of the transaction nobody else in the account makes tokens or agents by hand.
   */
  async reserve(ctx: OpContext, name: string): Promise<Named> {
    await lockTokens(ctx);
    return (await resolveAgent(ctx, name)) ?? { handle: name, agentId: newId('agent', ctx.now.getTime()) };
  }

  async list(ctx: OpContext): Promise<Summary[]> {
    const rows = await listTokens(ctx, this.config.presenceWindowSeconds);
    ctx.note({ rows: rows.length });
    return rows.map(summaryOf);
  }

  async status(ctx: OpContext, input: In<typeof workerTokenStatus>): Promise<Out<typeof workerTokenStatus>> {
    const named = await resolveAgent(ctx, input.agent_id);
    const row = named && (await findToken(ctx, named.handle));
    return { agentId: input.agent_id, exists: row !== undefined, ...validityOf(row) };
  }

  /** Repeated, it waits again: the answer to the first call may have been lost before every replica knew. */
  async revoke(ctx: OpContext, { agent_id }: In<typeof revokeWorkerToken>): Promise<void | Later<void>> {
    await lockTokens(ctx);
    const named = await resolveAgent(ctx, agent_id);
    if (!named) return;
    const before = await revokeToken(ctx, named.handle);
    ctx.note({ target_id: named.agentId, handle: named.handle, token_id: before?.id ?? null });
    if (before) WorkerTokenRevoked.publish(ctx, { token_id: before.id, agent_id: before.agentId });
    const version = await this.watch.change(ctx);
    return later(() => this.watch.settled(version));
  }
}

function validityOf(row: TokenRow | undefined): Pick<Summary, 'createdAt' | 'expired' | 'expiresAt' | 'lastRotatedAt'> {
  return {
    createdAt: wireTimeOrNull(row?.createdAt),
    expired: row?.isExpired ?? false,
    expiresAt: wireTimeOrNull(row?.expiresAt),
    lastRotatedAt: wireTimeOrNull(row?.rotatedAt),
  };
}

/** An agent that never registered is found by its handle only, so the handle stands for its id. */
function summaryOf(row: TokenOfAgentRow): Summary {
  return {
    agentId: row.agentId ?? row.handle,
    idSlug: row.handle,
    name: row.agentName,
    agentStatus: row.agentStatus,
    isArchived: row.isArchived,
    exists: true,
    ...validityOf(row),
  };
}

function wireTimeOrNull(at: Date | null | undefined): string | null {
  return at ? wireTime(at) : null;
}
