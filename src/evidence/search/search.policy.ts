import { invalid } from '../../platform/faults/faults.ts';
import { cursorOf, placeOf } from '../../platform/operation/cursor.ts';

/** Where a word was found, as the database tells it. */
export interface HitRow {
  readonly run_id: string;
  readonly agent_id: string;
  readonly seq: number;
  readonly kind: string;
  readonly at: Date;
  /** The same moment: microseconds since 1970. */
  readonly micros: string;
  readonly span_id: string | null;
  readonly excerpt: string;
}

/** Where a page ended. */
export interface HitPlace {
  readonly micros: string;
  readonly run_id: string;
  readonly seq: number;
  readonly kind: string;
}

const DAY_MS = 86_400_000;
const USUAL_DAYS = 30;
const MOST_DAYS = 366;

/**
 * From when to when is looked: the last 30 days unless it is said.
 * @throws Fault 422 for a range of more than a year.
 */
export function rangeOf(
  { from, to }: { readonly from?: string | undefined; readonly to?: string | undefined },
  now: Date,
): { readonly from: Date; readonly to: Date } {
  const end = to === undefined ? now.getTime() : Date.parse(to);
  const start = from === undefined ? end - USUAL_DAYS * DAY_MS : Date.parse(from);
  if (end - start > MOST_DAYS * DAY_MS)
    throw invalid(['query', 'from'], `a search reaches over at most ${MOST_DAYS} days`);
  return { from: new Date(start), to: new Date(end) };
}

export function hitCursor({ micros, run_id, seq, kind }: HitPlace): string {
  return cursorOf({ micros, id: JSON.stringify([run_id, seq, kind]) });
}

/** @throws Fault 422 for a cursor that no search has made. */
export function hitPlace(cursor: string | undefined): HitPlace | undefined {
  const place = placeOf(cursor);
  if (!place) return undefined;
  const [run_id, seq, kind] = partsOf(place.id);
  if (typeof run_id !== 'string' || !Number.isSafeInteger(seq) || typeof kind !== 'string')
    throw invalid(['query', 'cursor'], 'is not a cursor of this list');
  return { micros: place.micros, run_id, seq: seq as number, kind };
}

function partsOf(text: string): readonly unknown[] {
  try {
    const parts: unknown = JSON.parse(text);
    return Array.isArray(parts) ? parts : [];
  } catch {
    return [];
  }
}

/** One list of two, the newest first, each place once. */
export function newestFirst(hits: readonly HitRow[], limit: number): HitRow[] {
  const places = new Map(hits.map((hit) => [JSON.stringify([hit.run_id, hit.seq, hit.kind]), hit]));
  return [...places.values()].sort(byPlace).slice(0, limit);
}

function byPlace(one: HitRow, other: HitRow): number {
  const by = BigInt(other.micros) - BigInt(one.micros);
  if (by !== 0n) return by > 0n ? 1 : -1;
  if (one.run_id !== other.run_id) return one.run_id < other.run_id ? 1 : -1;
  return other.seq - one.seq || (one.kind < other.kind ? 1 : -1);
}
