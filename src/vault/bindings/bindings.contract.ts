import { z } from 'zod';
import { AgentName } from '../../identity/index.ts';
import { operation } from '../../platform/operation/operation.ts';
import { empty } from '../../platform/operation/output.ts';
import { CredentialMetadata, CredentialPath } from '../credentials/credentials.contract.ts';
import { CredentialNotFound } from '../credentials/credentials.faults.ts';
import { BindingNotFound, BoundAgentNotFound } from './bindings.faults.ts';

const CredentialBinding = z
  .object({
    credential_id: z.string(),
    agent_id: z.string(),
    on_demand: z.boolean().default(false),
    created_at: z.string(),
    /** Ours: names the reference while it means nothing. */
    unresolved: z.array(z.string()).optional(),
  })
  .meta({ id: 'CredentialBinding' });

const BindCredentialRequest = z
  .object({ agent_id: AgentName, on_demand: z.boolean().default(false) })
  .meta({ id: 'BindCredentialRequest' });

interface Named {
  readonly credential_id: string;
}
const scope = ({ credential_id }: Named) => ({ credential: credential_id });
const target = ({ credential_id }: Named) => ['credential', credential_id] as const;

export const listBindings = operation({
  id: 'vault.list_bindings',
  summary: 'Lists the agents that get a credential, as they were named.',
  http: { method: 'GET', path: '/api/v1/credentials/{credential_id}/bindings', status: 200 },
  capability: 'credential.read',
  scope,
  audit: { action: 'credential.read', target: ({ credential_id }) => ['credential', credential_id] },
  input: { path: CredentialPath },
  output: z.array(CredentialBinding),
  faults: [CredentialNotFound],
});

export const bindCredential = operation({
  id: 'vault.bind_credential',
  summary: 'Lets an agent have a credential: in its jobs, and with on_demand also outside of them. May be repeated.',
  http: { method: 'POST', path: '/api/v1/credentials/{credential_id}/bindings', status: 201 },
  capability: 'credential.bind',
  scope: ({ credential_id, agent_id }) => ({ credential: credential_id, agent: agent_id }),
  audit: { action: 'credential.bind', target },
  input: { path: CredentialPath, body: BindCredentialRequest },
  output: CredentialBinding,
  faults: [CredentialNotFound],
});

export const unbindCredential = operation({
  id: 'vault.unbind_credential',
  summary: 'Takes a credential from an agent, beginning with its next run.',
  http: { method: 'DELETE', path: '/api/v1/credentials/{credential_id}/bindings/{agent_id}', status: 204 },
  capability: 'credential.bind',
  scope: ({ credential_id, agent_id }) => ({ credential: credential_id, agent: agent_id }),
  audit: { action: 'credential.unbind', target },
  input: { path: CredentialPath.extend({ agent_id: AgentName }) },
  output: empty,
  faults: [CredentialNotFound, BindingNotFound],
});

export const listCredentialsOfAgent = operation({
  id: 'vault.list_credentials_of_agent',
  summary: 'Lists the credentials that an agent gets, without their values.',
  http: { method: 'GET', path: '/api/v1/credentials/by-agent/{agent_id}', status: 200 },
  capability: 'credential.read',
  scope: ({ agent_id }) => ({ agent: agent_id }),
  audit: { action: 'credential.read', target: ({ agent_id }) => ['agent', agent_id] },
  input: { path: z.object({ agent_id: AgentName }) },
  output: z.array(CredentialMetadata),
  faults: [BoundAgentNotFound],
});
