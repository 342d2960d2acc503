import { isJsonObject, type JsonObject } from '../../platform/json/json.ts';

/** Why one event of a batch was left out. */
export type RefusalCode = 'event.not_object' | 'event.no_type' | 'event.wrong_kind';

/** Fields that are text or absent; each of their values is open. */
const TEXTS = [
  'content',
  'event_id',
  'hook_event_type',
  'kind',
  'name',
  'parent_span_id',
  'span_id',
  'status',
  'timestamp',
  'trace_id',
] as const;
/** Fields that have a default, so that null is no value of theirs. */
const DEFAULTED = ['level', 'logger', 'message_type', 'role'] as const;

const UNALTERED: readonly string[] = [];

/**
 * Whether an event can be stored: an object with a type, and with the kinds of values that the contract fixes. Written out
 * by hand, because a schema costs twenty times as much and there are ten thousand events a second.
 */
export function refusalOf(event: unknown, altered: readonly string[] = UNALTERED): RefusalCode | undefined {
  if (!isJsonObject(event)) return 'event.not_object';
  const type = event['event_type'];
  if (type === undefined || type === null || type === '') return 'event.no_type';
  return typeof type === 'string' && hasFixedKinds(event, altered) ? undefined : 'event.wrong_kind';
}

function hasFixedKinds(event: JsonObject, altered: readonly string[]): boolean {
  for (const name of TEXTS) {
    const value = event[name];
    if (typeof value !== 'string' && value !== undefined && value !== null) return false;
  }
  for (const name of DEFAULTED) {
    const value = event[name];
    if (typeof value !== 'string' && value !== undefined) return false;
  }
  const { payload, usage } = event;
  if (payload !== undefined && !isJsonObject(payload)) return false;
  if (usage !== undefined && usage !== null && !isJsonObject(usage)) return false;
  return isSequence(event['event_sequence'], altered);
}

/** A number that no double holds was read as text: altered, and no reason to refuse. */
function isSequence(value: unknown, altered: readonly string[]): boolean {
  if (value === undefined || value === null || Number.isSafeInteger(value)) return true;
  return typeof value === 'string' && altered.includes('event_sequence') && /^-?\d+$/.test(value);
}
