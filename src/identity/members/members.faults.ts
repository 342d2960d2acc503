import { fault } from '../../platform/faults/faults.ts';

export const MemberNotFound = fault('member.not_found', 'not_found', 'There is no such member');
export const MemberExists = fault('member.exists', 'conflict', 'Somebody with this mail address is a member already');
export const MemberWasRemoved = fault(
  'member.removed',
  'conflict',
  'Somebody with this mail address was a member: restore the membership',
);
