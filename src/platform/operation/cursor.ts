import { invalid } from '../faults/faults.ts';

/** Where a page of a list ended: time and id, since several rows may have one time. */
export interface Place {
  /** Microseconds since 1970 as text: all the digits that the database keeps. */
  readonly micros: string;
  readonly id: string;
}

const CURSOR = /^(\d{1,17}) (.{1,400})$/s;

/** A place in a list, opaque to callers. */
export function cursorOf({ micros, id }: Place): string {
  return Buffer.from(`${micros} ${id}`).toString('base64url');
}

/** @throws Fault 422 for a cursor that no list of ours has made. */
export function placeOf(cursor: string | null | undefined): Place | undefined {
  if (cursor === undefined || cursor === null) return undefined;
  const [, micros, id] = CURSOR.exec(Buffer.from(cursor, 'base64url').toString()) ?? [];
  if (micros === undefined || id === undefined || id.includes('\0'))
    throw invalid(['query', 'cursor'], 'is not a cursor of this list');
  return { micros, id };
}
