import {
  CAPABILITIES,
  KNOWN_CAPABILITIES,
  partsOf,
  type KnownCapability,
} from '../capabilities/capabilities.policy.ts';

interface Role {
  readonly name: string;
  /** Rules, not lists: a capability that is new finds its holders by itself, and the table in the spec shows which. */
  holds(capability: KnownCapability): boolean;
}

const isRead = (capability: KnownCapability): boolean => partsOf(capability)[1] === 'read';

/** Conversations, which configuring does not include. */
const isConversation = (capability: KnownCapability): boolean =>
  capability === 'agent.invoke' || partsOf(capability)[0] === 'session';

const DEVELOPED_AREAS: readonly string[] = ['agents', 'runs', 'evidence', 'entry'];
/** Evidence is read with `run.read`. */
const AUDITED_AREAS: readonly string[] = ['audit', 'access', 'runs', 'evidence'];
const RUNNING: readonly string[] = ['agent.read', 'agent.invoke', 'run.read', 'run.cancel'];

const ROLES = {
  role_admin: { name: 'admin', holds: () => true },
  role_operator: { name: 'operator', holds: (capability) => !isConversation(capability) },
  role_developer: {
    name: 'developer',
    holds: (capability) => DEVELOPED_AREAS.includes(CAPABILITIES[capability].area),
  },
  role_runner: {
    name: 'runner',
    holds: (capability) => RUNNING.includes(capability) || partsOf(capability)[0] === 'session',
  },
  role_viewer: { name: 'viewer', holds: isRead },
  role_auditor: {
    name: 'auditor',
    holds: (capability) => isRead(capability) && AUDITED_AREAS.includes(CAPABILITIES[capability].area),
  },
} as const satisfies Record<string, Role>;

/** The roles that every account has. Their ids are the same everywhere and never change. */
export type RoleId = keyof typeof ROLES;

export const BUILT_IN_ROLES = Object.keys(ROLES) as readonly RoleId[];

export function isRole(id: string): id is RoleId {
  return Object.hasOwn(ROLES, id);
}

/** The role's public name. */
export function nameOfRole(id: RoleId): string {
  return ROLES[id].name;
}

/** Each built-in role consists of one policy of its name: `policy_admin`. Undefined: it is none of those. */
export function roleOfPolicy(policyId: string): RoleId | undefined {
  return BUILT_IN_ROLES.find((id) => policyId === `policy_${ROLES[id].name}`);
}

/** What the holder of all these roles may do. A role that nobody knows gives nothing. */
export function capabilitiesOf(roleIds: readonly string[]): ReadonlySet<string> {
  const roles: readonly Role[] = roleIds.filter(isRole).map((id) => ROLES[id]);
  return new Set(KNOWN_CAPABILITIES.filter((capability) => roles.some((role) => role.holds(capability))));
}
