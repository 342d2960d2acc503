import { z } from 'zod';
import { AccessEscalation, AccessLastAdmin } from '../../identity/index.ts';
import { operation } from '../../platform/operation/operation.ts';
import { PrincipalNotFound } from './principals.faults.ts';

const roleIds = z.array(z.string());
const attributes = z.record(z.string(), z.string());

const member = { principal_id: z.string(), email: z.string(), full_name: z.string().nullish() };
const AuthzMember = z.object({ ...member, role_ids: roleIds, attributes }).meta({ id: 'AuthzMember' });
const AuthzMemberRoles = z.object({ ...member, role_ids: roleIds }).meta({ id: 'AuthzMemberRoles' });
const serviceAccount = { principal_id: z.string(), display_name: z.string().nullish() };
const AuthzServiceAccount = z
  .object({ ...serviceAccount, role_ids: roleIds, attributes })
  .meta({ id: 'AuthzServiceAccount' });
const AuthzServiceAccountRoles = z
  .object({ ...serviceAccount, role_ids: roleIds })
  .meta({ id: 'AuthzServiceAccountRoles' });
const AuthzAgent = z
  .object({ agent_id: z.string(), name: z.string(), principal_id: z.string(), role_ids: roleIds })
  .meta({ id: 'AuthzAgent' });
const AuthzPrincipal = z
  .object({
    id: z.string(),
    /** `human`, `service_account` or `agent`. */
    kind: z.string(),
    name: z.string(),
    subtitle: z.string().nullish(),
    agent_id: z.string().nullish(),
  })
  .meta({ id: 'AuthzPrincipal' });

const RoleIdsBody = z
  .object({ role_ids: z.array(z.string().max(500)).max(100).default([]) })
  .meta({ id: 'RoleIdsBody' });
const AttributesBody = z
  .object({ attributes: z.record(z.string().max(200), z.string().max(1_000)).default({}) })
  .meta({ id: 'AttributesBody' });

const byPrincipal = z.object({ principal_id: z.string() });

export const listPrincipals = operation({
  id: 'access.list_principals',
  summary: 'Lists whoever may be granted something: people, service accounts and agents, oldest first.',
  http: { method: 'GET', path: '/api/v1/authz/principals', status: 200 },
  capability: 'principal.read',
  input: {},
  output: z.array(AuthzPrincipal),
  faults: [],
});

export const listMembersOfAccess = operation({
  id: 'access.list_members',
  summary: 'Lists the account’s people with their roles and attributes, oldest first.',
  http: { method: 'GET', path: '/api/v1/authz/members', status: 200 },
  capability: 'principal.read',
  input: {},
  output: z.array(AuthzMember),
  faults: [],
});

export const listServiceAccountsOfAccess = operation({
  id: 'access.list_service_accounts',
  summary: 'Lists the account’s service accounts with their roles and attributes, oldest first.',
  http: { method: 'GET', path: '/api/v1/authz/service-accounts', status: 200 },
  capability: 'principal.read',
  input: {},
  output: z.array(AuthzServiceAccount),
  faults: [],
});

export const listAgentsOfAccess = operation({
  id: 'access.list_agents',
  summary: 'Lists the agents that can act by a token of their own, with their roles, oldest first.',
  http: { method: 'GET', path: '/api/v1/authz/agents', status: 200 },
  capability: 'principal.read',
  input: {},
  output: z.array(AuthzAgent),
  faults: [],
});

const REPLACES = 'in force everywhere when this answers';

export const putMemberRoles = operation({
  id: 'access.put_member_roles',
  summary: `Replaces the roles of a member; ${REPLACES}.`,
  http: { method: 'PUT', path: '/api/v1/authz/members/{principal_id}/roles', status: 200 },
  capability: 'role.assign',
  audit: { action: 'role.assign', target: ({ principal_id }) => ['principal', principal_id] },
  input: { path: byPrincipal, body: RoleIdsBody },
  output: AuthzMemberRoles,
  faults: [PrincipalNotFound, AccessEscalation, AccessLastAdmin],
});

export const putServiceAccountRoles = operation({
  id: 'access.put_service_account_roles',
  summary: `Replaces the roles of a service account; ${REPLACES}.`,
  http: { method: 'PUT', path: '/api/v1/authz/service-accounts/{principal_id}/roles', status: 200 },
  capability: 'role.assign',
  audit: { action: 'role.assign', target: ({ principal_id }) => ['principal', principal_id] },
  input: { path: byPrincipal, body: RoleIdsBody },
  output: AuthzServiceAccountRoles,
  faults: [PrincipalNotFound, AccessEscalation],
});

export const putAgentRoles = operation({
  id: 'access.put_agent_roles',
  summary: `Replaces the roles of an agent: what its own tokens may do beside its work; ${REPLACES}.`,
  http: { method: 'PUT', path: '/api/v1/authz/agents/{agent_id}/roles', status: 200 },
  capability: 'role.assign',
  audit: { action: 'role.assign', target: ({ agent_id }) => ['principal', agent_id] },
  input: { path: z.object({ agent_id: z.string() }), body: RoleIdsBody },
  output: AuthzAgent,
  faults: [PrincipalNotFound, AccessEscalation],
});

export const putMemberAttributes = operation({
  id: 'access.put_member_attributes',
  summary: 'Replaces what is noted of a member.',
  http: { method: 'PUT', path: '/api/v1/authz/members/{principal_id}/attributes', status: 200 },
  capability: 'principal.update',
  audit: { action: 'principal.update', target: ({ principal_id }) => ['principal', principal_id] },
  input: { path: byPrincipal, body: AttributesBody },
  output: AuthzMember,
  faults: [PrincipalNotFound],
});

export const putServiceAccountAttributes = operation({
  id: 'access.put_service_account_attributes',
  summary: 'Replaces what is noted of a service account.',
  http: { method: 'PUT', path: '/api/v1/authz/service-accounts/{principal_id}/attributes', status: 200 },
  capability: 'principal.update',
  audit: { action: 'principal.update', target: ({ principal_id }) => ['principal', principal_id] },
  input: { path: byPrincipal, body: AttributesBody },
  output: AuthzServiceAccount,
  faults: [PrincipalNotFound],
});
