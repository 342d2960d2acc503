import { Inject, Injectable } from '@nestjs/common';
import { AuditLedger } from '../../audit/index.ts';
import { Clock, wireTime } from '../../platform/clock/clock.ts';
import { invalid } from '../../platform/faults/faults.ts';
import { newId } from '../../platform/ids/ids.ts';
import type { In, OpContext, Out } from '../../platform/operation/operation.ts';
import { RoleAssigner } from '../../platform/operation/ports.ts';
import type { SystemContext } from '../../platform/operation/system-work.ts';
import type { distrustDomain, getTrustedDomains, trustDomain } from './trusted-domains.contract.ts';
import { TrustedDomainExists, TrustedDomainNotFound } from './trusted-domains.faults.ts';
import { domainOf, eligibilityOf, isConsumerDomain } from './trusted-domains.policy.ts';
import {
  deleteDomain,
  insertDomain,
  insertJoined,
  listDomains,
  mailOfCaller,
  trustingAccounts,
  type TrustedDomainRow,
} from './trusted-domains.store.ts';

/** Whoever joins by their domain may look, and no more, until somebody gives them a role. */
const JOINING_ROLE = 'role_viewer';

/** Domains whose people become members by signing in. An account can trust only what its own people sign in with. */
@Injectable()
export class TrustedDomains {
  constructor(
    @Inject(RoleAssigner) private readonly roles: RoleAssigner,
    @Inject(AuditLedger) private readonly ledger: AuditLedger,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  async get(ctx: OpContext): Promise<Out<typeof getTrustedDomains>> {
    const { domain, reason } = eligibilityOf(await mailOfCaller(ctx));
    const rows = await listDomains(ctx);
    return {
      domains: rows.map(viewOf),
      eligible_domain: domain,
      ineligible_reason: reason,
      enabled: rows.some((row) => row.domain === domain),
    };
  }

  async trust(ctx: OpContext): Promise<Out<typeof trustDomain>> {
    const { domain, reason } = eligibilityOf(await mailOfCaller(ctx));
    if (domain === null) throw invalid(['body'], reason ?? '', 'ineligible_domain');
    const row = await insertDomain(ctx, newId('domain', ctx.now.getTime()), domain);
    if (!row) throw TrustedDomainExists();
    ctx.note({ target_id: row.id, domain });
    return viewOf(row);
  }

  async distrust(ctx: OpContext, { reason = null }: In<typeof distrustDomain>): Promise<void> {
    const domain = domainOf((await mailOfCaller(ctx)) ?? '');
    const id = domain === undefined ? undefined : await deleteDomain(ctx, domain);
    if (id === undefined) throw TrustedDomainNotFound();
    ctx.note({ target_id: id, domain, reason });
  }

  /** At a sign-in with a verified address, in its transaction. */
  async join(system: SystemContext, userId: string, email: string): Promise<void> {
    const domain = domainOf(email);
    if (domain === undefined || isConsumerDomain(domain)) return;
    for (const accountId of await trustingAccounts(system, userId, domain)) {
      const id = newId('principal', this.clock.nowMs());
      if (!(await insertJoined(system, { accountId, id, email, userId }))) continue;
      const actor = {
        kind: 'system',
        id: 'system',
        accountId,
        credentialId: '',
        scopes: [],
        agentHandle: undefined,
      } as const;
      await this.roles.assign({ actor, sql: system.sql }, id, [JOINING_ROLE], []);
      const { text, values } = this.ledger.systemRow({
        accountId,
        area: 'identity',
        action: 'member.join',
        operation: 'identity.oidc_callback',
        target: ['principal', id],
        detail: { email, domain, role_ids: [JOINING_ROLE] },
      });
      await system.sql(text, values);
    }
  }
}

function viewOf({ id, accountId, domain, createdAt }: TrustedDomainRow): Out<typeof trustDomain> {
  return { id, account_id: accountId, domain, created_at: wireTime(createdAt) };
}
