import { fault } from '../../platform/faults/faults.ts';

export const PrincipalNotFound = fault('principal.not_found', 'not_found', 'There is no such principal');
