import type { Operation } from './operation.ts';

/** What hands out credentials or rights, or takes them: its effect would outlast the acting, or reach whoever acts. */
const RIGHTS =
  /^(api_key|worker_token|role|grant|policy|principal|member|service_account|trusted_domain|authz|credential|vault_key)\.(?!read$)/;

/** Whether an operation is closed to a system admin who acts as somebody else: so that nobody gains anything by it for later. */
export function outlastsActing({ capability, systemAdminsOnly }: Operation): boolean {
  return systemAdminsOnly === true || (typeof capability === 'string' && RIGHTS.test(capability));
}
