import { depthOf, isJsonObject, writeJson, type JsonObject } from '../../platform/json/json.ts';

const COUNTS = [
  'input_tokens',
  'cached_input_tokens',
  'cache_write_input_tokens',
  'output_tokens',
  'total_tokens',
] as const;
const TEXTS = ['provider', 'model', 'currency'] as const;

/**
 * What of a reported usage can be kept: whole, non-negative token counts, a finite cost. Evidence is never refused, so
 * what does not fit is left out; nothing left means nothing was reported.
 */
export function reportedUsage(reported: unknown): Record<string, unknown> | null {
  if (typeof reported !== 'object' || reported === null) return null;
  const given = reported as Readonly<Record<string, unknown>>;
  const usage: Record<string, unknown> = {};
  for (const name of COUNTS)
    if (Number.isSafeInteger(given[name]) && (given[name] as number) >= 0) usage[name] = given[name];
  for (const name of TEXTS) if (typeof given[name] === 'string') usage[name] = given[name];
  if (typeof given['cost_amount'] === 'number' && Number.isFinite(given['cost_amount']))
    usage['cost_amount'] = given['cost_amount'];
  if (given['cost_source'] === 'reported' || given['cost_source'] === 'estimated')
    usage['cost_source'] = given['cost_source'];
  return Object.keys(usage).length > 0 ? usage : null;
}

/**
 * An object, as the contract shows outputs and diagnostics. The end of a run is not refused for something else in its
 * place: that stands under `value`. Null and absence are nothing.
 */
export function objectIn(reported: unknown): JsonObject | null {
  if (reported === undefined || reported === null) return null;
  return isJsonObject(reported) ? reported : { value: reported };
}

/**
 * The state of a session as JSON, to be handed over untouched. One that is nested deeper than any worker can read is no state
 * that another run could go on with: it is not kept.
 */
export function sessionIn(reported: unknown, deepest: number): string | null {
  const snapshot = objectIn(reported);
  return snapshot === null || depthOf(snapshot) > deepest ? null : writeJson(snapshot);
}
