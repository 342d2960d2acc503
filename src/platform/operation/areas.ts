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

/** The category of an audit row, as contract.md (audit) names it: the area, but access is `authorization`. */
export function auditCategory(area: Area): string {
  return area === 'access' ? 'authorization' : area;
}
