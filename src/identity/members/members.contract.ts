import { z } from 'zod';
import { operation } from '../../platform/operation/operation.ts';
import { AccessEscalation } from '../credentials/credentials.faults.ts';
import { MemberExists, MemberNotFound, MemberWasRemoved } from './members.faults.ts';

const MemberView = z
  .object({
    principal_id: z.string(),
    /** The same in every account that the person is a member of. */
    user_id: z.string(),
    email: z.string(),
    full_name: z.string().nullish(),
    display_name: z.string(),
    /** `active` (also if they never signed in) or `removed`. */
    status: z.string(),
    created_at: z.string(),
    last_login_at: z.string().nullish(),
  })
  .meta({ id: 'MemberView' });

const path = z.object({ principal_id: z.string() });

export const listMembers = operation({
  id: 'identity.list_members',
  summary: 'Lists the account’s members, removed ones too, oldest first.',
  http: { method: 'GET', path: '/api/v1/accounts/members', status: 200 },
  capability: 'member.read',
  input: {},
  output: z.array(MemberView),
  faults: [],
});

export const inviteMember = operation({
  id: 'identity.invite_member',
  summary: 'Makes somebody a member by their mail address; they hold no role until somebody gives them one.',
  http: { method: 'POST', path: '/api/v1/accounts/members', status: 201 },
  capability: 'member.invite',
  acrossAccounts: 'a person exists once, whatever accounts they are members of',
  audit: { action: 'member.invite', target: () => ['principal', ''] },
  input: {
    body: z
      .object({ email: z.email().max(320), full_name: z.string().min(1).max(200).nullish() })
      .meta({ id: 'InviteMemberRequest' }),
  },
  output: MemberView,
  faults: [MemberExists, MemberWasRemoved],
});

export const removeMember = operation({
  id: 'identity.remove_member',
  summary:
    'Removes a member: when this answers, their keys and sessions in this account open nothing. May be repeated.',
  http: { method: 'DELETE', path: '/api/v1/accounts/members/{principal_id}', status: 200 },
  capability: 'member.remove',
  acrossAccounts: 'sessions belong to people and not to accounts',
  audit: { action: 'member.remove', target: ({ principal_id }) => ['principal', principal_id] },
  input: { path },
  output: z.record(z.string(), z.string()),
  faults: [MemberNotFound],
});

export const restoreMember = operation({
  id: 'identity.restore_member',
  summary: 'Makes a removed member one again, with their roles; keys and sessions that were ended stay so.',
  http: { method: 'POST', path: '/api/v1/accounts/members/{principal_id}/restore', status: 200 },
  capability: 'member.remove',
  audit: { action: 'member.restore', target: ({ principal_id }) => ['principal', principal_id] },
  input: { path },
  output: MemberView,
  faults: [MemberNotFound, AccessEscalation],
});
