import { invalid } from '../faults/faults.ts';
import { depthOf } from '../json/json.ts';

/**
 * A frame is read however deep it is, since most of them are evidence. What is kept as it was sent, to be shown or handed out again, must
 * not be deeper than anywhere else.
 * @throws Fault `input.invalid` at the first field that is.
 */
export function assertFlat(limit: number, fields: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(fields))
    if (depthOf(value) > limit) throw invalid(['body', name], `is nested deeper than ${limit} levels`, 'json_too_deep');
}
