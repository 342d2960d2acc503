import { fault } from '../../platform/faults/faults.ts';

export const AuthMissing = fault('auth.missing', 'unauthenticated', 'A credential is needed: Authorization: Bearer …');
export const AuthInvalid = fault('auth.invalid', 'unauthenticated', 'This credential is not known');
export const AuthExpired = fault('auth.expired', 'unauthenticated', 'This credential has expired');
export const AuthRevoked = fault('auth.revoked', 'unauthenticated', 'This credential was revoked');
export const AuthThrottled = fault(
  'auth.throttled',
  'limited',
  'Too many credentials from this address open nothing, and neither does this one',
);
export const AuthOrigin = fault(
  'auth.origin',
  'refused',
  'A browser’s session changes something only from a page of this installation: the Origin header says otherwise',
);
export const AccountNone = fault('account.none', 'refused', 'This person is a member of no account');
export const AccountSuspended = fault('account.suspended', 'refused', 'This account is suspended');
/** Raised wherever somebody would hand out rights; what is held is the room access's to say. */
export const AccessEscalation = fault('access.escalation', 'refused', 'Nobody may give away what they do not hold');
/** Raised where an account would be left to nobody. */
export const AccessLastAdmin = fault(
  'access.last_admin',
  'conflict',
  'This is the account’s last administrator: make somebody else one first',
);
