import type { Area } from '../../platform/operation/areas.ts';

export interface CapabilitySpec {
  /** The area whose operations ask for it. */
  readonly area: Area;
  /** What it lets its holder do. */
  readonly allows: string;
  readonly sensitivity: 'low' | 'medium' | 'high';
}

/** Every capability that an operation of this build asks for, and no other. */
export const CAPABILITIES = {
  'agent.read': { area: 'agents', allows: 'See agents, their versions and who works for them', sensitivity: 'low' },
  'agent.create': {
    area: 'agents',
    allows: 'Draft agents, and get what it takes to run their first worker',
    sensitivity: 'high',
  },
  'agent.update': {
    area: 'agents',
    allows:
      'Enable, disable, label and archive an agent; change its draft, its policy and what its workers are configured with; pause, drain and resume its queue',
    sensitivity: 'high',
  },
  'agent.invoke': { area: 'agents', allows: 'Give work to an agent', sensitivity: 'medium' },
  'skill.read': { area: 'agents', allows: 'See which skills agents have, and their contents', sensitivity: 'low' },
  'approval.read': {
    area: 'gateway',
    allows: 'See what agents ask somebody to allow, and what became of it',
    sensitivity: 'medium',
  },
  'approval.decide': {
    area: 'gateway',
    allows: 'Allow or refuse what an agent may not do alone',
    sensitivity: 'high',
  },
  'run.read': { area: 'runs', allows: 'See runs and everything on their record', sensitivity: 'medium' },
  'run.cancel': { area: 'runs', allows: 'Cancel runs', sensitivity: 'medium' },
  'account.read': { area: 'identity', allows: 'See the account’s settings and limits', sensitivity: 'low' },
  'account.update': { area: 'identity', allows: 'Change the account’s settings and limits', sensitivity: 'high' },
  'api_key.create': {
    area: 'identity',
    allows: 'Make API keys that reach no further than oneself',
    sensitivity: 'high',
  },
  'api_key.read': { area: 'identity', allows: 'See which API keys there are', sensitivity: 'low' },
  'api_key.revoke': { area: 'identity', allows: 'Revoke API keys', sensitivity: 'high' },
  'api_key.reveal': { area: 'identity', allows: 'See the secret of one’s own new API key again', sensitivity: 'high' },
  'member.read': { area: 'identity', allows: 'See who is and was a member of the account', sensitivity: 'low' },
  'member.invite': { area: 'identity', allows: 'Make people members of the account', sensitivity: 'high' },
  'member.remove': { area: 'identity', allows: 'Remove members, and restore them', sensitivity: 'high' },
  'service_account.read': { area: 'identity', allows: 'See the account’s service accounts', sensitivity: 'low' },
  'service_account.create': {
    area: 'identity',
    allows: 'Make service accounts that reach no further than oneself',
    sensitivity: 'high',
  },
  'service_account.disable': {
    area: 'identity',
    allows: 'Disable service accounts, and restore them',
    sensitivity: 'high',
  },
  'trusted_domain.read': {
    area: 'identity',
    allows: 'See the domains whose people become members by signing in',
    sensitivity: 'low',
  },
  'trusted_domain.create': {
    area: 'identity',
    allows: 'Let everybody of one’s own domain become a member',
    sensitivity: 'high',
  },
  'trusted_domain.delete': { area: 'identity', allows: 'No longer let them', sensitivity: 'high' },
  'worker_token.read': { area: 'agents', allows: 'See which agents have a worker token', sensitivity: 'low' },
  'worker_token.rotate': { area: 'agents', allows: 'Make and replace worker tokens', sensitivity: 'high' },
  'worker_token.revoke': { area: 'agents', allows: 'Revoke worker tokens', sensitivity: 'high' },
  'credential.read': {
    area: 'vault',
    allows: 'See which credentials there are and who gets them, never a value',
    sensitivity: 'low',
  },
  'credential.create': { area: 'vault', allows: 'Store secrets', sensitivity: 'high' },
  'credential.update': { area: 'vault', allows: 'Describe, disable and enable credentials', sensitivity: 'high' },
  'credential.delete': { area: 'vault', allows: 'Delete credentials', sensitivity: 'high' },
  'credential.bind': { area: 'vault', allows: 'Decide which agents get which credentials', sensitivity: 'high' },
  'credential.rotate': { area: 'vault', allows: 'Replace the value of a credential', sensitivity: 'high' },
  'vault_key.read': { area: 'vault', allows: 'See which keys seal, and for how much', sensitivity: 'low' },
  'vault_key.rotate': { area: 'vault', allows: 'Seal everything with a new key', sensitivity: 'high' },
  'worker.act': { area: 'workers', allows: 'Stop, spare, examine and forget workers', sensitivity: 'medium' },
  'principal.read': {
    area: 'access',
    allows: 'See whoever can be granted something, and what they hold',
    sensitivity: 'medium',
  },
  'principal.update': {
    area: 'access',
    allows: 'Note attributes of people and service accounts',
    sensitivity: 'medium',
  },
  'role.assign': { area: 'access', allows: 'Give and take roles that one holds oneself', sensitivity: 'high' },
  'audit.read': { area: 'audit', allows: 'Read the audit trail', sensitivity: 'medium' },
} as const satisfies Record<string, CapabilitySpec>;

export type KnownCapability = keyof typeof CAPABILITIES;

export const KNOWN_CAPABILITIES = Object.keys(CAPABILITIES) as readonly KnownCapability[];

export function isKnown(capability: string): capability is KnownCapability {
  return Object.hasOwn(CAPABILITIES, capability);
}

/** A capability's two halves: what it is about, and what may be done. */
export function partsOf(capability: string): readonly [noun: string, verb: string] {
  const dot = capability.indexOf('.');
  return [capability.slice(0, dot), capability.slice(dot + 1)];
}
