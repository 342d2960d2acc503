import { z } from 'zod';
import { anyone, operation } from '../../platform/operation/operation.ts';

const AccountStatus = z.enum(['active', 'suspended']).meta({ id: 'AccountStatus' });
const AccountRef = z
  .object({ id: z.string(), slug: z.string(), name: z.string(), status: AccountStatus })
  .meta({ id: 'AccountRef' });
const text = z.string().nullish();
const PrincipalKind = z.enum(['human', 'agent', 'service_account', 'system']).meta({ id: 'PrincipalKind' });
const ImpersonationMode = z.enum(['impersonate', 'account_view']).meta({ id: 'ImpersonationMode' });

const IdentityContext = z
  .object({
    user: z.object({ id: text, email: text, name: text, picture: text }).meta({ id: 'AuthUser' }).nullish(),
    principal: z
      .object({ id: z.string(), kind: PrincipalKind, display_name: z.string() })
      .meta({ id: 'ActivePrincipal' })
      .nullish(),
    account: AccountRef.nullish(),
    member_accounts: z.array(AccountRef).nullish(),
    is_system_admin: z.boolean().optional(),
    tenantless: z.boolean().optional(),
    auth_source: z.object({ auth: text, sub: text }).meta({ id: 'AuthSource' }).nullish(),
    authz: z
      .object({ capabilities: z.array(z.string()).optional(), mode: z.string() })
      .meta({ id: 'AuthzContext' })
      .nullish(),
    impersonation: z
      .object({
        mode: ImpersonationMode,
        impersonator_principal_id: text,
        impersonator_user_id: text,
        impersonator_email: text,
      })
      .meta({ id: 'ImpersonationContext' })
      .nullish(),
  })
  .meta({ id: 'IdentityContext' });

export const whoAmI = operation({
  id: 'identity.me',
  summary: 'Says who calls and what they hold, whatever credential they show; without one, that nobody is known.',
  http: { method: 'GET', path: '/auth/me', status: 200 },
  transaction: 'none',
  capability: anyone('whoever asks may have no credential yet'),
  input: {},
  output: z
    .object({ authenticated: z.boolean(), auth_enabled: z.boolean(), identity: IdentityContext.nullish() })
    .meta({ id: 'AuthMeResponse' }),
  faults: [],
});
