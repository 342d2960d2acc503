import { z } from 'zod';
import { freeObject, isJsonObject } from '../../platform/json/json.ts';
import { operation } from '../../platform/operation/operation.ts';
import { empty } from '../../platform/operation/output.ts';
import { CredentialNameTaken, CredentialNotFound } from './credentials.faults.ts';
import { isReserved, valueProblem } from './value.policy.ts';

const NAME_FORM = /^[a-zA-Z0-9][a-zA-Z0-9_-]{0,62}$/;
const MOST_LABELS = 50;

const Status = z.enum(['active', 'disabled']);
const TextMap = { type: 'object', additionalProperties: { type: 'string' } } as const;
/** A record would drop `__proto__`. */
const Labels = freeObject()
  .check(({ value, issues }) => {
    if (!isJsonObject(value)) return;
    const entries = Object.entries(value);
    if (entries.length > MOST_LABELS)
      issues.push({ code: 'custom', message: `has more than ${MOST_LABELS} labels`, input: value });
    for (const [name, text] of entries)
      if (typeof text !== 'string')
        issues.push({ code: 'custom', path: [name], message: 'a label is a text', input: value });
  })
  .meta(TextMap);

/** What is wrong with a value is said without the value. */
const Value = z
  .string()
  .min(1)
  .check(({ value, issues }) => {
    const problem = typeof value === 'string' ? valueProblem(value) : undefined;
    if (problem !== undefined) issues.push({ code: 'custom', message: problem, input: undefined });
  });
const Text = z.string().max(10_000).nullish();

/** Everything about a credential but its value, which no answer ever holds. */
export const CredentialMetadata = z
  .object({
    id: z.string(),
    name: z.string(),
    status: Status,
    description: z.string().nullish(),
    owner: z.string().nullish(),
    labels: freeObject().meta(TextMap).optional(),
    active_version: z.int().nullish(),
    created_at: z.string(),
    updated_at: z.string(),
    last_replaced_at: z.string().nullish(),
    last_used_at: z.string().nullish(),
    // Ours beside the contract's.
    key_id: z.string().optional(),
    keys: z.array(z.string()).optional(),
    bound_agents: z.int().optional(),
  })
  .meta({ id: 'CredentialMetadata' });

const CreateCredentialRequest = z
  .object({
    name: z
      .string()
      .regex(NAME_FORM, 'must have 1 to 63 letters, digits, hyphens and underscores, and begin with a letter or digit')
      .refine((name) => !isReserved(name), 'is the name under which jobs bring the run token'),
    value: Value,
    description: Text,
    owner: Text,
    labels: Labels.optional(),
  })
  .meta({ id: 'CreateCredentialRequest' });

const UpdateCredentialMetadataRequest = z
  .object({ description: Text, owner: Text, labels: Labels.nullish(), status: Status.nullish() })
  .meta({ id: 'UpdateCredentialMetadataRequest' });

const ReplaceCredentialValueRequest = z.object({ value: Value }).meta({ id: 'ReplaceCredentialValueRequest' });

export const CredentialPath = z.object({ credential_id: z.string().min(1).max(200) });
interface Named {
  readonly credential_id: string;
}
const scope = ({ credential_id }: Named) => ({ credential: credential_id });
const target = ({ credential_id }: Named) => ['credential', credential_id] as const;

export const listCredentials = operation({
  id: 'vault.list_credentials',
  summary: 'Lists the account’s credentials, oldest first, without their values.',
  http: { method: 'GET', path: '/api/v1/credentials', status: 200 },
  capability: 'credential.read',
  audit: { action: 'credential.read', target: () => ['credential', ''] },
  input: {},
  output: z.array(CredentialMetadata),
  faults: [],
});

export const createCredential = operation({
  id: 'vault.create_credential',
  summary: 'Stores a secret value, sealed, under a name.',
  http: { method: 'POST', path: '/api/v1/credentials', status: 201 },
  capability: 'credential.create',
  audit: { action: 'credential.create', target: () => ['credential', ''] },
  input: { body: CreateCredentialRequest },
  output: CredentialMetadata,
  faults: [CredentialNameTaken],
});

export const getCredential = operation({
  id: 'vault.get_credential',
  summary: 'Shows everything about a credential but its value.',
  http: { method: 'GET', path: '/api/v1/credentials/{credential_id}', status: 200 },
  capability: 'credential.read',
  scope,
  audit: { action: 'credential.read', target: ({ credential_id }) => ['credential', credential_id] },
  input: { path: CredentialPath },
  output: CredentialMetadata,
  faults: [CredentialNotFound],
});

export const updateCredential = operation({
  id: 'vault.update_credential',
  summary: 'Changes what is known of a credential, and whether it is handed out; never its value.',
  http: { method: 'PATCH', path: '/api/v1/credentials/{credential_id}', status: 200 },
  capability: 'credential.update',
  scope,
  audit: { action: 'credential.update', target },
  input: { path: CredentialPath, body: UpdateCredentialMetadataRequest },
  output: CredentialMetadata,
  faults: [CredentialNotFound],
});

export const deleteCredential = operation({
  id: 'vault.delete_credential',
  summary: 'Deletes a credential with its bindings. Runs in flight keep what they were given.',
  http: { method: 'DELETE', path: '/api/v1/credentials/{credential_id}', status: 204 },
  capability: 'credential.delete',
  scope,
  audit: { action: 'credential.delete', target },
  input: { path: CredentialPath },
  output: empty,
  faults: [CredentialNotFound],
});

export const replaceCredentialValue = operation({
  id: 'vault.replace_credential_value',
  summary: 'Puts another value in a credential’s place: the next run gets it, a run in flight keeps the one it has.',
  http: { method: 'PUT', path: '/api/v1/credentials/{credential_id}/value', status: 200 },
  capability: 'credential.rotate',
  scope,
  audit: { action: 'credential.rotate', target },
  input: { path: CredentialPath, body: ReplaceCredentialValueRequest },
  output: CredentialMetadata,
  faults: [CredentialNotFound],
});
