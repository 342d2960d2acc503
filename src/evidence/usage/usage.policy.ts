import { isJsonObject, type JsonObject } from '../../platform/json/json.ts';

/** What was consumed, as a worker reported it. Counts are whole numbers; the cost is in `currency`. */
export interface Usage {
  readonly provider?: string;
  readonly model?: string;
  readonly input_tokens?: number;
  readonly cached_input_tokens?: number;
  readonly cache_write_input_tokens?: number;
  readonly output_tokens?: number;
  readonly total_tokens?: number;
  readonly cost_amount?: number;
  readonly cost_source?: 'reported' | 'estimated';
  readonly currency?: string;
}

const COUNTED = ['input_tokens', 'cached_input_tokens', 'cache_write_input_tokens', 'output_tokens'] as const;
const COUNTS = [...COUNTED, 'total_tokens'] as const;
const TEXTS = ['provider', 'model', 'currency'] as const;

type Draft = { -readonly [Name in keyof Usage]: Usage[Name] };

/**
 * Reads a usage report. What is not a whole number counts as not said; so does a whole report without one number.
 * Models and providers need not be known.
 */
export function readUsage(reported: unknown): Usage | undefined {
  if (!isJsonObject(reported)) return undefined;
  const usage = numbersOf(reported);
  if (Object.keys(usage).length === 0) return undefined;
  for (const name of TEXTS) {
    const text = reported[name];
    if (typeof text === 'string') usage[name] = text;
  }
  const { cost_source: source } = reported;
  if (source === 'reported' || source === 'estimated') usage.cost_source = source;
  return usage;
}

function numbersOf(reported: JsonObject): Draft {
  const usage: Draft = {};
  for (const name of COUNTS) {
    const count = reported[name];
    if (Number.isSafeInteger(count) && (count as number) >= 0) usage[name] = count as number;
  }
  const { cost_amount: cost } = reported;
  if (typeof cost === 'number' && Number.isFinite(cost) && cost >= 0) usage.cost_amount = cost;
  const total = usage.total_tokens ?? totalOf(usage);
  if (total !== undefined) usage.total_tokens = total;
  return usage;
}

/** A running total of the worker: it replaces the one before, and is never added to anything. */
export function runningTotal(event: Readonly<Record<string, unknown>>): Usage | undefined {
  return readUsage(event['usage']) ?? readUsage(event['payload']);
}

/** What a span itself consumed, told when it ends. */
export function spanUsage(event: Readonly<Record<string, unknown>>): Usage | undefined {
  const payload = isJsonObject(event['payload']) ? event['payload'] : {};
  return readUsage(payload['call_usage']) ?? readUsage(payload['usage']) ?? readUsage(event['usage']);
}

/**
 * Adds up what leaf spans consumed. A span above another one with usage repeats what the lower one said, so it must not be
 * among them. Provider, model and currency stay where all agree; a sum with an estimate in it is an estimate.
 */
export function sumOfLeaves(leaves: readonly Usage[]): Usage | undefined {
  if (leaves.length === 0) return undefined;
  const sum: Draft = {};
  for (const leaf of leaves) {
    for (const name of [...COUNTS, 'cost_amount'] as const) {
      const count = leaf[name];
      if (count !== undefined) sum[name] = (sum[name] ?? 0) + count;
    }
  }
  for (const name of TEXTS) {
    const text = agreed(leaves.map((leaf) => leaf[name]));
    if (text !== undefined) sum[name] = text;
  }
  if (leaves.some((leaf) => leaf.cost_source === 'estimated')) sum.cost_source = 'estimated';
  else if (leaves.some((leaf) => leaf.cost_source === 'reported')) sum.cost_source = 'reported';
  return sum;
}

/** Cached and written tokens are beside the input tokens, not among them (worker-protocol.md §11). */
function totalOf(usage: Draft): number | undefined {
  const counts = COUNTED.map((name) => usage[name]).filter((count) => count !== undefined);
  return counts.length === 0 ? undefined : counts.reduce((total, count) => total + count, 0);
}

function agreed(texts: readonly (string | undefined)[]): string | undefined {
  const [first] = texts;
  return texts.every((text) => text === first) ? first : undefined;
}
