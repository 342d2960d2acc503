/** The areas of the contract: each operation belongs to one, and its audit rows' category is made of it. */
export const AREAS = [
  'platform',
  'identity',
  'access',
  'audit',
  'agents',
  'vault',
  'gateway',
  'runs',
  'workers',
  'dispatch',
  'evidence',
  'entry',
] as const;

export type Area = (typeof AREAS)[number];

/** Actions about who somebody is, and not about what an account holds. */
const SIGN_IN = /^(auth|session|impersonation)\./;

/** The category of an audit row, as contract.md (audit) names it: the area, but access is `authorization`, and signing in `authentication`. */
export function auditCategory(area: Area, action: string): string {
  if (area === 'identity' && SIGN_IN.test(action)) return 'authentication';
  return area === 'access' ? 'authorization' : area;
}
