import * as bindings from '../../../src/vault/bindings/bindings.contract.ts';
import * as credentials from '../../../src/vault/credentials/credentials.contract.ts';
import * as keys from '../../../src/vault/keys/keys.contract.ts';
import { getBootSecrets } from '../../../src/workers/supplies/supplies.contract.ts';
import { newToken } from '../../contract/exchange.ts';
import type { Tenant } from '../../contract/tenant.ts';
import { nothing, sample } from './sample.ts';

const CREDENTIALS = '/api/v1/credentials';

async function stored(tenant: Tenant): Promise<string> {
  const { id } = await tenant.ask('POST', CREDENTIALS, { name: `c-${newToken()}`, value: `secret-${newToken()}` });
  tenant.names.add(id);
  return id;
}

/** A credential that an agent gets. */
async function bound(tenant: Tenant): Promise<{ readonly credential_id: string; readonly agent_id: string }> {
  const credential_id = await stored(tenant);
  const { handle: agent_id } = await tenant.agent();
  await tenant.ask('POST', `${CREDENTIALS}/${credential_id}/bindings`, { agent_id });
  return { credential_id, agent_id };
}

export const vaultSamples = [
  sample(credentials.listCredentials, nothing),
  sample(credentials.createCredential, async () => ({
    body: {
      name: `sweep-${newToken()}`,
      value: '{"user":"u","pass":"p"}',
      description: 'Of the sweep',
      owner: 'tests',
      labels: { team: 'blue' },
    },
  })),
  sample(credentials.getCredential, async (tenant) => ({ path: { credential_id: await stored(tenant) } })),
  sample(credentials.updateCredential, async (tenant) => ({
    path: { credential_id: await stored(tenant) },
    body: { description: 'Described anew', owner: null, labels: {}, status: 'disabled' as const },
  })),
  sample(credentials.deleteCredential, async (tenant) => ({ path: { credential_id: await stored(tenant) } })),
  sample(credentials.replaceCredentialValue, async (tenant) => ({
    path: { credential_id: await stored(tenant) },
    body: { value: 'another secret' },
  })),
  sample(bindings.listBindings, async (tenant) => ({
    path: { credential_id: (await bound(tenant)).credential_id },
  })),
  sample(bindings.bindCredential, async (tenant) => ({
    path: { credential_id: await stored(tenant) },
    body: { agent_id: (await tenant.agent()).handle, on_demand: true },
  })),
  sample(bindings.unbindCredential, async (tenant) => ({ path: await bound(tenant) })),
  sample(bindings.listCredentialsOfAgent, async (tenant) => ({
    path: { agent_id: (await bound(tenant)).agent_id },
  })),
  sample(getBootSecrets, async (tenant) => ({ token: (await tenant.agent()).token })),
  sample(keys.listVaultKeys, nothing),
  sample(keys.rotateVaultKey, async () => ({
    body: { reason: 'it may have leaked' },
    answers: 409, // the tests' keys come from the environment
  })),
  sample(keys.getKeyRotation, async () => ({ path: { rotation_id: 'rot_none' }, answers: 404 })),
];
