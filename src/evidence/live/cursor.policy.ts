import { createHash } from 'node:crypto';

/** Beyond this a reader that comes back is told to fetch everything again. */
export const RESUME_MS = 10 * 60_000;

/** Up to where a reader has heard: of lists a moment of the database's clock, of runs the number of their sequence. */
export interface Heard {
  readonly at: Date;
  /** By the short name of a run. */
  readonly runs: ReadonlyMap<string, number>;
}

const TIME_DIGITS = 9;
const COUNT_DIGITS = 5;
export const CURSOR = /^([0-9a-z]{9})([0-9a-z]{5})((?:\.[\w-]{6}[0-9a-z]{1,10}){0,50})$/;

/** Long enough that two of fifty runs never share it by accident, short enough to stand in every event. */
export function shortName(runId: string): string {
  return createHash('sha256').update(runId).digest('base64url').slice(0, 6);
}

/** Opaque to readers. Sorts as the events came: by time, then by their count within the stream. */
export function cursorText({ at, runs }: Heard, count: number): string {
  const time = at.getTime().toString(36).padStart(TIME_DIGITS, '0');
  const place = (count % 36 ** COUNT_DIGITS).toString(36).padStart(COUNT_DIGITS, '0');
  return [time + place, ...[...runs].map(([name, seq]) => name + seq.toString(36))].join('.');
}

/** Undefined for what no stream of ours has told. */
export function heardFrom(cursor: string): Heard | undefined {
  const [, time, , runs] = CURSOR.exec(cursor) ?? [];
  if (time === undefined || runs === undefined) return undefined;
  const entries = runs.split('.').filter((entry) => entry !== '');
  return {
    at: new Date(Number.parseInt(time, 36)),
    runs: new Map(entries.map((entry) => [entry.slice(0, 6), Number.parseInt(entry.slice(6), 36)])),
  };
}
