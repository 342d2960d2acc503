/** The face of the room: what it may hold, and what nobody else may see of it. */
export { StoredCredentials } from './credentials/credentials.service.ts';
export { holdKeys } from './keys/start.store.ts';
export { handedOut, NOTHING_OUT } from './masking/handouts.policy.ts';
export { Masking, type Masked } from './masking/mask.policy.ts';
export { Masks } from './masking/masks.service.ts';
export { Matcher, type Range } from './masking/matcher.policy.ts';
export { Splits, type Chunk, type KeptTail } from './masking/split.policy.ts';
export { HandedOut } from './supplies/handed-out.service.ts';
export type { Secrets } from './supplies/secrets.policy.ts';
export { HAND_OUT_ACTION, SecretSupplies, type SuppliedRun, type Supply } from './supplies/supplies.service.ts';
export { VaultModule } from './vault.module.ts';
