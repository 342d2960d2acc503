import { fault } from '../../platform/faults/faults.ts';

export const ApprovalNotFound = fault('approval.not_found', 'not_found', 'There is no such approval');
export const ApprovalDecided = fault('approval.decided', 'conflict', 'This was decided before; a decision is final');
export const ApprovalExpired = fault('approval.expired', 'conflict', 'Nobody decided in time, or the run ended first');
export const ApprovalChanged = fault(
  'approval.changed',
  'conflict',
  'What is proposed is not what the decision was made about: read it again',
);
