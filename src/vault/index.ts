/** The face of the room: what it may hold. */
export { holdKeys } from './keys/start.store.ts';
export { HandedOut } from './supplies/handed-out.service.ts';
export type { Secrets } from './supplies/secrets.policy.ts';
export { SecretSupplies, type SuppliedRun, type Supply } from './supplies/supplies.service.ts';
export { VaultModule } from './vault.module.ts';
