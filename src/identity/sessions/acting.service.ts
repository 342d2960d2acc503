import { Inject, Injectable } from '@nestjs/common';
import { AuditLedger } from '../../audit/index.ts';
import { wireTime } from '../../platform/clock/clock.ts';
import { CONFIG, type Config } from '../../platform/config/config.ts';
import { invalid } from '../../platform/faults/faults.ts';
import { later, type Later } from '../../platform/operation/later.ts';
import type { In, OpContext, Out } from '../../platform/operation/operation.ts';
import { AccountSuspended } from '../credentials/credentials.faults.ts';
import { CredentialWatch } from '../watch/watch.service.ts';
import { activeAccounts, activeActing, findTarget, revokeActing, viewerOf } from './acting.store.ts';
import type * as contract from './sessions.contract.ts';
import { AccountNotFound, ActsAlready, ImpersonationNotFound, TargetNotFound } from './sessions.faults.ts';
import { Sessions } from './sessions.service.ts';
import * as store from './sessions.store.ts';

/** Where sessions act, and as whom. Each change counts on every replica before it is answered. */
@Injectable()
export class Acting {
  constructor(
    @Inject(Sessions) private readonly sessions: Sessions,
    @Inject(CredentialWatch) private readonly watch: CredentialWatch,
    @Inject(AuditLedger) private readonly ledger: AuditLedger,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  async list(ctx: OpContext): Promise<Out<typeof contract.listSessions>> {
    const rows = await store.listSessions(ctx, ctx.actor.credentialId);
    return rows.map(({ sid, current, createdAt, lastSeenAt, expiresAt, userAgent, accountId }) => ({
      sid,
      current,
      created_at: wireTime(createdAt),
      last_seen_at: wireTime(lastSeenAt),
      expires_at: wireTime(expiresAt),
      user_agent: userAgent,
      account_id: accountId,
    }));
  }

  async endAll(
    ctx: OpContext,
    { keep_current }: In<typeof contract.endAllSessions>,
  ): Promise<Later<Out<typeof contract.endAllSessions>>> {
    const ended = await store.endAllSessions(ctx, ctx.actor.credentialId, !keep_current);
    ctx.note({ target_id: ctx.actor.credentialId, ended, keep_current });
    if (!keep_current) ctx.setCookie(this.sessions.forgetting(ctx.presented.browser?.()));
    return this.settled(ctx, { ended });
  }

  async accounts(
    ctx: OpContext,
    { q = null, limit = null }: In<typeof contract.listAccountOptions>,
  ): Promise<Out<typeof contract.listAccountOptions>> {
    return activeAccounts(ctx, q, limit);
  }

  async switch(ctx: OpContext, { account_id }: In<typeof contract.switchAccount>): Promise<Later<void>> {
    const { actor } = ctx;
    if (actor.impersonator?.mode === 'impersonate') throw ActsAlready();
    const place = await store.findPlace(ctx, account_id, actor.credentialId);
    if (place && !place.isActive) throw AccountSuspended();
    if (place) await store.moveSession(ctx, actor.credentialId, account_id, place.id);
    else await this.view(ctx, account_id);
    return this.settled(ctx, undefined);
  }

  async impersonate(ctx: OpContext, wanted: In<typeof contract.impersonate>): Promise<Later<void>> {
    const { account_id = null, target_principal_id = null, target_user_id = null, reason = null } = wanted;
    if (target_principal_id === null && target_user_id === null)
      throw invalid(['body', 'target_principal_id'], 'Say whom to act as: here, or by target_user_id');
    const target = await findTarget(ctx, account_id, target_principal_id, target_user_id);
    if (!target) throw TargetNotFound();
    ctx.note({ target_id: target.principalId, account_id: target.accountId, reason });
    await this.act(ctx, { ...target, as: 'impersonate', reason });
    return this.settled(ctx, undefined);
  }

  /** Believes the session, and asks nobody whether its owner is still a system admin. */
  async stop(ctx: OpContext): Promise<Later<void>> {
    ctx.note({ target_id: ctx.actor.credentialId });
    await store.comeBack(ctx, ctx.actor.credentialId);
    return this.settled(ctx, undefined);
  }

  async impersonations(ctx: OpContext): Promise<Out<typeof contract.listImpersonations>> {
    return (await activeActing(ctx)).map((row) => ({
      sid: row.sid,
      mode: row.mode,
      account_id: row.accountId,
      account_slug: row.accountSlug,
      started_at: wireTime(row.startedAt),
      actor_principal_id: row.actorId,
      actor_label: row.actorLabel,
      impersonator_principal_id: row.impersonatorId,
      impersonator_email: row.impersonatorEmail,
    }));
  }

  async revoke(ctx: OpContext, { sid, reason = null }: In<typeof contract.revokeImpersonation>): Promise<Later<void>> {
    if (!(await revokeActing(ctx, sid))) throw ImpersonationNotFound();
    ctx.note({ reason });
    return this.settled(ctx, undefined);
  }

  private async view(ctx: OpContext, accountId: string): Promise<void> {
    const { actor } = ctx;
    const mayView = actor.isSystemAdmin === true || actor.impersonator?.mode === 'account_view';
    const principalId = mayView ? await viewerOf(ctx, accountId) : undefined;
    if (principalId === undefined) throw AccountNotFound();
    await this.act(ctx, { accountId, principalId, as: 'account_view', reason: null });
  }

  /** The account that is acted in has it on record too, not only the one that it is done from. */
  private async act(ctx: OpContext, acting: Omit<store.Acting, 'seconds'>): Promise<void> {
    const { actor } = ctx;
    await store.actAs(ctx, actor.credentialId, { ...acting, seconds: this.config.impersonationMinutes * 60 });
    if (acting.accountId === actor.accountId) return;
    const { text, values } = this.ledger.systemRow({
      accountId: acting.accountId,
      area: 'identity',
      action: 'impersonation.start',
      operation: 'identity.impersonate',
      target: ['principal', acting.principalId],
      detail: { mode: acting.as, by_user_id: actor.impersonator?.userId ?? actor.userId, reason: acting.reason },
    });
    await ctx.sql(text, values);
  }

  private async settled<Answer>(ctx: OpContext, answer: Answer): Promise<Later<Answer>> {
    const version = await this.watch.change(ctx);
    return later(async () => {
      await this.watch.settled(version);
      return answer;
    });
  }
}
