import { z } from 'zod';
import { operation } from '../../platform/operation/operation.ts';
import { ReasonRequest } from '../../platform/operation/reason.ts';
import { KeyRotationNotFound, KeyRotationRunning, VaultKeyNotShared, VaultKeyNotWritable } from './keys.faults.ts';

const VaultKey = z
  .object({
    key_id: z.string(),
    state: z.enum(['active', 'decrypt_only', 'retired']),
    created_at: z.string(),
    values: z.int(),
    source: z.enum(['file', 'environment', 'kms']),
  })
  .meta({ id: 'VaultKey' });

const KeyRotation = z
  .object({
    rotation_id: z.string(),
    state: z.enum(['running', 'done', 'failed']),
    from_key: z.string(),
    to_key: z.string(),
    total: z.int(),
    done: z.int(),
    started_at: z.string(),
    finished_at: z.string().nullable(),
    error: z.string().nullable(),
  })
  .meta({ id: 'KeyRotation' });

export const listVaultKeys = operation({
  id: 'vault.list_keys',
  summary: 'Lists the keys that seal or sealed values, and for how many each is needed.',
  http: { method: 'GET', path: '/api/v1/vault/keys', status: 200 },
  transaction: 'none', // counts over all accounts, which no account's transaction sees
  capability: 'vault_key.read',
  systemAdminsOnly: true,
  ours: true,
  input: {},
  output: z.array(VaultKey),
  faults: [],
});

export const rotateVaultKey = operation({
  id: 'vault.rotate_key',
  summary: 'Takes a new key into use and begins to seal everything with it; reads and writes go on.',
  http: { method: 'POST', path: '/api/v1/vault/rotate-key', status: 202 },
  capability: 'vault_key.rotate',
  systemAdminsOnly: true,
  ours: true,
  audit: { action: 'vault.rotate_key', target: () => ['vault_key', ''] },
  input: { body: ReasonRequest },
  output: KeyRotation,
  faults: [KeyRotationRunning, VaultKeyNotWritable, VaultKeyNotShared],
});

export const getKeyRotation = operation({
  id: 'vault.get_rotation',
  summary: 'Says how far sealing everything with another key has come.',
  http: { method: 'GET', path: '/api/v1/vault/rotations/{rotation_id}', status: 200 },
  capability: 'vault_key.read',
  systemAdminsOnly: true,
  ours: true,
  input: { path: z.object({ rotation_id: z.string().min(1).max(200) }) },
  output: KeyRotation,
  faults: [KeyRotationNotFound],
});
