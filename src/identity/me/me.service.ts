import { Inject, Injectable } from '@nestjs/common';
import { CONFIG, type Config } from '../../platform/config/config.ts';
import { Database } from '../../platform/db/database.ts';
import { SYSTEM_ACCOUNT, type Actor } from '../../platform/operation/actor.ts';
import type { OpContext, Out } from '../../platform/operation/operation.ts';
import { Decider } from '../../platform/operation/ports.ts';
import { Credentials } from '../credentials/credentials.service.ts';
import type { whoAmI } from './me.contract.ts';
import { describeActor } from './me.store.ts';

type Answer = Out<typeof whoAmI>;
type Identity = NonNullable<Answer['identity']>;

const KINDS = { person: 'human', service_account: 'service_account', agent: 'agent', system: 'system' } as const;

/** Tells callers who they are: for consoles, which hide what would be refused, and for people who look for a mistake. */
@Injectable()
export class Me {
  constructor(
    @Inject(Credentials) private readonly credentials: Credentials,
    @Inject(Decider) private readonly decider: Decider,
    @Inject(Database) private readonly database: Database,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  async show(ctx: OpContext): Promise<Answer> {
    ctx.header('cache-control', 'no-store');
    const actor = await this.credentials.recognize(ctx.presented);
    const answer = { auth_enabled: this.config.auth === 'on', authenticated: actor !== undefined };
    return { ...answer, identity: actor ? await this.identityOf(actor) : null };
  }

  private async identityOf(actor: Actor): Promise<Identity> {
    const { account, principal, person, members } = await describeActor(this.database, actor);
    const { mode, capabilities } = await this.decider.rightsOf(actor);
    const isTenantless = actor.accountId === SYSTEM_ACCOUNT;
    return {
      user: person && { id: person.id, email: person.email, name: person.name, picture: person.picture },
      principal: isTenantless
        ? null
        : {
            id: actor.id,
            kind: kindOf(principal?.kind ?? actor.kind),
            display_name: principal?.name ?? actor.agentHandle ?? actor.id,
          },
      account: isTenantless ? null : account,
      member_accounts: [...(members ?? [])],
      is_system_admin: actor.isSystemAdmin === true,
      tenantless: isTenantless,
      auth_source: { auth: sourceOf(actor), sub: person?.subject ?? null },
      authz: { mode, capabilities: [...new Set(capabilities)] },
      impersonation: actor.impersonator
        ? {
            mode: actor.impersonator.mode,
            impersonator_principal_id: actor.impersonator.principalId,
            impersonator_user_id: actor.impersonator.userId,
            impersonator_email: actor.impersonator.email,
          }
        : null,
    };
  }
}

function kindOf(kind: string): (typeof KINDS)[keyof typeof KINDS] {
  return KINDS[kind as keyof typeof KINDS] ?? 'system';
}

function sourceOf({ isSession, kind, credentialId }: Actor): string {
  if (isSession) return 'session';
  if (kind === 'agent') return 'worker_token';
  return credentialId === '' ? 'off' : 'api_key';
}
