/** Whoever acts, after identification. */
export interface Actor {
  readonly kind: 'person' | 'service_account' | 'agent' | 'system' | 'anonymous';
  /** The principal's id; of an agent the agent's. */
  readonly id: string;
  readonly accountId: string;
  /** The credential's id: an API key's, a session's, or a worker token's. */
  readonly credentialId: string;
  /** Narrows what the principal may do, never widens it; empty means no narrowing. */
  readonly scopes: readonly string[];
  /** Of a worker token: the handle of the agent it speaks for. */
  readonly agentHandle: string | undefined;
  /** A person who looks after the installation itself. */
  readonly isSystemAdmin?: boolean;
  /** Of a person: the same in all accounts. */
  readonly userId?: string | undefined;
  /** Came with a browser's cookie. */
  readonly isSession?: boolean;
  /** Who really acts, when a system admin acts as somebody else: it is on every row of what they do. */
  readonly impersonator?: Impersonator | undefined;
}

/** A system admin, as they came. */
export interface Impersonator {
  readonly principalId: string;
  readonly userId: string;
  readonly email: string;
  /** With the rights of a member, or looking into the account as nobody in particular. */
  readonly mode: 'impersonate' | 'account_view';
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
