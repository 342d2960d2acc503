import { fault } from '../../platform/faults/faults.ts';

export const TooManyEvents = fault('event.too_many', 'too_large', 'A batch holds at most 1,000 events');
