export { Accounts } from './accounts/accounts.service.ts';
export { SEALED_API_KEYS } from './api-keys/api-keys.store.ts';
export { Credentials } from './credentials/credentials.service.ts';
export { AccessEscalation } from './credentials/credentials.faults.ts';
export { IdentityModule } from './identity.module.ts';
export { RunTokens } from './run-tokens/run-tokens.service.ts';
export { CredentialWatch } from './watch/watch.service.ts';
export { WorkerTokenRevoked } from './worker-tokens/worker-tokens.events.ts';
