import { z } from 'zod';
import { operation } from '../../platform/operation/operation.ts';
import { AccessEscalation } from '../credentials/credentials.faults.ts';
import { ApiKeyNotFound, ApiKeyNotRecoverable } from './api-keys.faults.ts';
import { SCOPE_FORM, readMoment } from './api-keys.policy.ts';

const ApiKeyBoundTo = z.enum(['service_account', 'user']).meta({ id: 'ApiKeyBoundTo' });
const ApiKeyStatus = z.enum(['active', 'revoked']).meta({ id: 'ApiKeyStatus' });

const view = {
  id: z.string(),
  name: z.string(),
  scopes: z.array(z.string()),
  status: ApiKeyStatus,
  principal_id: z.string(),
  bound_to: ApiKeyBoundTo,
  created_at: z.string(),
  expires_at: z.string().nullish(),
  last_used_at: z.string().nullish(),
  owner_label: z.string().nullish(),
  service_account_name: z.string().nullish(),
};
const ApiKeyView = z.object(view).meta({ id: 'ApiKeyView' });
const ApiKeyCreatedResponse = z.object({ ...view, key: z.string() }).meta({ id: 'ApiKeyCreatedResponse' });
const ApiKeyRevealResponse = z.object({ key: z.string() }).meta({ id: 'ApiKeyRevealResponse' });

const CreateApiKeyRequest = z
  .object({
    name: z.string().min(1).max(200),
    bound_to: ApiKeyBoundTo.default('service_account'),
    service_account_id: z.string().max(500).nullish(),
    role_ids: z.array(z.string().max(500)).max(100).optional(),
    scopes: z.array(z.string().regex(SCOPE_FORM, 'must be <what>:read or <what>:write')).max(100).optional(),
    expires_at: z
      .string()
      .refine((text) => readMoment(text) !== undefined, 'must be a time of RFC 3339, like 2030-01-31T12:00:00Z')
      .nullish(),
  })
  .meta({ id: 'CreateApiKeyRequest' });

const path = z.object({ key_id: z.string() });

export const createApiKey = operation({
  id: 'identity.create_api_key',
  summary: 'Makes an API key for the caller or for a service account; its secret is in this answer.',
  http: { method: 'POST', path: '/api/v1/api-keys', status: 201 },
  capability: 'api_key.create',
  audit: { action: 'api_key.create', target: () => ['api_key', ''] },
  input: { body: CreateApiKeyRequest },
  output: ApiKeyCreatedResponse,
  faults: [AccessEscalation],
});

export const listApiKeys = operation({
  id: 'identity.list_api_keys',
  summary: 'Lists the account’s API keys, revoked ones too, oldest first.',
  http: { method: 'GET', path: '/api/v1/api-keys', status: 200 },
  capability: 'api_key.read',
  input: {},
  output: z.array(ApiKeyView),
  faults: [],
});

export const revokeApiKey = operation({
  id: 'identity.revoke_api_key',
  summary: 'Revokes an API key: when this answers, no replica takes it any more. May be repeated.',
  http: { method: 'DELETE', path: '/api/v1/api-keys/{key_id}', status: 200 },
  capability: 'api_key.revoke',
  scope: ({ key_id }) => ({ api_key: key_id }),
  audit: { action: 'api_key.revoke', target: ({ key_id }) => ['api_key', key_id] },
  input: { path },
  output: z.record(z.string(), z.string()),
  faults: [ApiKeyNotFound],
});

export const revealApiKey = operation({
  id: 'identity.reveal_api_key',
  summary: 'Shows the secret of a new API key again, to whoever made it and for some minutes only.',
  http: { method: 'GET', path: '/api/v1/api-keys/{key_id}/reveal', status: 200 },
  capability: 'api_key.reveal',
  scope: ({ key_id }) => ({ api_key: key_id }),
  audit: { action: 'api_key.reveal', target: ({ key_id }) => ['api_key', key_id] },
  input: { path },
  output: ApiKeyRevealResponse,
  faults: [ApiKeyNotFound, ApiKeyNotRecoverable],
});
