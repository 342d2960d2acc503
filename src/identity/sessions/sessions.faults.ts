import { fault } from '../../platform/faults/faults.ts';

export const AccountNotFound = fault('session.account_not_found', 'not_found', 'There is no such account to act in');
export const TargetNotFound = fault('session.target_not_found', 'not_found', 'There is nobody of this id to act as');
export const ActsAlready = fault(
  'session.acts_already',
  'refused',
  'This session acts as somebody else already: stop that first',
);
export const ImpersonationNotFound = fault(
  'impersonation.not_found',
  'not_found',
  'No session of this id acts as somebody else',
);
