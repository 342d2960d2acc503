/** Whoever acts, after identification. */
export interface Actor {
  readonly kind: 'person' | 'service_account' | 'agent' | 'system' | 'anonymous';
  /** The principal's id; of an agent the agent's. */
  readonly id: string;
  readonly accountId: string;
  /** The credential's id: an API key's, or a worker token's. */
  readonly credentialId: string;
  /** Narrows what the principal may do, never widens it; empty means no narrowing. */
  readonly scopes: readonly string[];
  /** Of a worker token: the handle of the agent it speaks for. */
  readonly agentHandle: string | undefined;
  /** A person who looks after the installation itself. */
  readonly isSystemAdmin?: boolean;
}

/** The account of what belongs to no account: refused calls of unknown callers. */
export const SYSTEM_ACCOUNT = 'acct_system';

/** The nobody of operations that ask for no credential. Its account has no tenant rows. */
export const ANONYMOUS: Actor = {
  kind: 'anonymous',
  id: 'anonymous',
  accountId: SYSTEM_ACCOUNT,
  credentialId: '',
  scopes: [],
  agentHandle: undefined,
};
