import { fault } from '../../platform/faults/faults.ts';

export const AccountSlugTaken = fault('account.slug_taken', 'conflict', 'There is an account of that name already');
