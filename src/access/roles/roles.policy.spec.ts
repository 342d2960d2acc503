import { describe, expect, it } from '@jest/globals';
import { KNOWN_CAPABILITIES } from '../capabilities/capabilities.policy.ts';
import { BUILT_IN_ROLES, capabilitiesOf } from './roles.policy.ts';

const COLUMNS = ['role_admin', 'role_operator', 'role_developer', 'role_runner', 'role_viewer', 'role_auditor'];

/** In the order of `COLUMNS`; x: holds it. */
const TABLE: Readonly<Record<string, string>> = {
  'agent.read': 'x x x x x -',
  'agent.create': 'x x x - - -',
  'agent.update': 'x x x - - -',
  'agent.invoke': 'x - x x - -',
  'skill.read': 'x x x - x -',
  'approval.read': 'x x - - x -',
  'approval.decide': 'x x - - - -',
  'run.read': 'x x x x x x',
  'run.cancel': 'x x x x - -',
  'account.read': 'x x - - x -',
  'account.update': 'x x - - - -',
  'api_key.create': 'x x - - - -',
  'api_key.read': 'x x - - x -',
  'api_key.revoke': 'x x - - - -',
  'api_key.reveal': 'x x - - - -',
  'member.read': 'x x - - x -',
  'member.invite': 'x x - - - -',
  'member.remove': 'x x - - - -',
  'service_account.read': 'x x - - x -',
  'service_account.create': 'x x - - - -',
  'service_account.disable': 'x x - - - -',
  'trusted_domain.read': 'x x - - x -',
  'trusted_domain.create': 'x x - - - -',
  'trusted_domain.delete': 'x x - - - -',
  'worker_token.read': 'x x x - x -',
  'worker_token.rotate': 'x x x - - -',
  'worker_token.revoke': 'x x x - - -',
  'credential.read': 'x x - - x -',
  'credential.create': 'x x - - - -',
  'credential.update': 'x x - - - -',
  'credential.delete': 'x x - - - -',
  'credential.bind': 'x x - - - -',
  'credential.rotate': 'x x - - - -',
  'vault_key.read': 'x x - - x -',
  'vault_key.rotate': 'x x - - - -',
  'worker.act': 'x x - - - -',
  'principal.read': 'x x - - x x',
  'principal.update': 'x x - - - -',
  'role.assign': 'x x - - - -',
  'audit.read': 'x x - - x x',
};

describe('the built-in roles', () => {
  it('have fixed ids', () => {
    expect(BUILT_IN_ROLES).toEqual(COLUMNS);
  });

  it('are decided for every capability there is', () => {
    expect(Object.keys(TABLE)).toEqual(KNOWN_CAPABILITIES);
  });

  describe.each(Object.entries(TABLE))('%s', (capability, line) => {
    it.each(line.split(' ').map((mark, index) => ({ role: COLUMNS[index] ?? '', holds: mark === 'x' })))(
      '$role: $holds',
      ({ role, holds }) => {
        expect(capabilitiesOf([role]).has(capability)).toBe(holds);
      },
    );
  });

  it('add up', () => {
    expect([...capabilitiesOf(['role_auditor', 'role_runner'])].sort()).toEqual(
      [...new Set([...capabilitiesOf(['role_auditor']), ...capabilitiesOf(['role_runner'])])].sort(),
    );
  });

  it.each([[[]], [['admin']], [['role_root']], [['__proto__']], [['toString']]])('%j gives nothing', (roleIds) => {
    expect(capabilitiesOf(roleIds).size).toBe(0);
  });
});
