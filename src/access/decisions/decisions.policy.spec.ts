import { describe, expect, it } from '@jest/globals';
import { KNOWN_CAPABILITIES } from '../capabilities/capabilities.policy.ts';
import { capabilitiesOf } from '../roles/roles.policy.ts';
import { heldWithin, scopeWordOf } from './decisions.policy.ts';

const everything = capabilitiesOf(['role_admin']);

function within(...scopes: string[]): string[] {
  return [...heldWithin(everything, scopes)];
}

describe('the scopes of a key', () => {
  it('are words that callers can write down', () => {
    expect([...new Set(KNOWN_CAPABILITIES.map(scopeWordOf))]).toEqual([
      'agents',
      'skills',
      'approvals',
      'runs',
      'accounts',
      'api_keys',
      'members',
      'service_accounts',
      'trusted_domains',
      'worker_tokens',
      'credentials',
      'vault_keys',
      'workers',
      'principals',
      'roles',
      'audit',
    ]);
  });

  it.each([
    { scopes: ['runs:read'], left: ['run.read'] },
    { scopes: ['runs:write'], left: ['run.read', 'run.cancel'] },
    { scopes: ['agents:read'], left: ['agent.read'] },
    {
      scopes: ['agents:write', 'runs:read'],
      left: ['agent.read', 'agent.create', 'agent.update', 'agent.invoke', 'run.read'],
    },
    { scopes: ['skills:read'], left: ['skill.read'] },
    { scopes: ['accounts:read'], left: ['account.read'] },
    { scopes: ['accounts:write'], left: ['account.read', 'account.update'] },
    { scopes: ['api_keys:read'], left: ['api_key.read'] },
    {
      scopes: ['api_keys:write'],
      left: ['api_key.create', 'api_key.read', 'api_key.revoke', 'api_key.reveal'],
    },
    {
      scopes: ['worker_tokens:write', 'worker_tokens:read'],
      left: ['worker_token.read', 'worker_token.rotate', 'worker_token.revoke'],
    },
    { scopes: ['credentials:read'], left: ['credential.read'] },
    {
      scopes: ['credentials:write'],
      left: [
        'credential.read',
        'credential.create',
        'credential.update',
        'credential.delete',
        'credential.bind',
        'credential.rotate',
      ],
    },
    { scopes: ['vault_keys:write'], left: ['vault_key.read', 'vault_key.rotate'] },
    { scopes: ['workers:write'], left: ['worker.act'] },
    { scopes: ['audit:read'], left: ['audit.read'] },
    { scopes: ['triggers:write'], left: [] },
  ])('$scopes leave $left of everything', ({ scopes, left }) => {
    expect(within(...scopes)).toEqual(left);
  });

  it('leave everything when there are none', () => {
    expect(within()).toEqual(KNOWN_CAPABILITIES);
  });

  it('give nothing that the principal does not hold', () => {
    const held = capabilitiesOf(['role_viewer']);
    expect([...heldWithin(held, ['runs:write', 'agents:write'])]).toEqual(['agent.read', 'run.read']);
  });
});
