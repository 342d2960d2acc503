import { canonicalJson, formatPath, isJsonObject, type JsonObject } from '../../platform/json/json.ts';
import type { Truncation } from '../artifacts/artifacts.policy.ts';
import { contentOf } from '../spans/content.policy.ts';
import type { CallRow } from './replay.store.ts';

/** A tool call as it was recorded. */
export interface RecordedCall {
  readonly input: unknown;
  readonly response: unknown;
  readonly isError: boolean;
}

/** The text of a field that was too large for its event; undefined where it was cut. */
export type Kept = ReadonlyMap<string, { readonly text: string; readonly isJson: boolean }>;

const NOTHING_KEPT: Kept = new Map();

/**
 * What a recorded call was made with and answered. `kept` is what stood apart from the events, by artifact id: without it
 * the beginning of a text stands for the whole.
 */
export function callOf(row: CallRow, kept: Kept = NOTHING_KEPT): RecordedCall {
  const start = restored(row.start, row.start_truncated, kept);
  const end = restored(row.end, row.end_truncated, kept);
  const { input, output } = contentOf('tool', start, end);
  return { input, response: unwrapped(output), isError: row.status === 'error' };
}

/** Which artifacts hold what was too large for the events of a call. */
export function keptApart({ start_truncated, end_truncated }: CallRow): string[] {
  return [...(start_truncated ?? []), ...(end_truncated ?? [])].map(({ artifact_id }) => artifact_id);
}

/** Whether what was moved out of the events is all there. A call of which a part is lost answers nothing. */
export function isWhole(row: CallRow, kept: Kept): boolean {
  return keptApart(row).every((id) => kept.has(id));
}

/** The one text of what a call is made with: no input is an empty one. */
export function inputText(input: unknown): string {
  return canonicalJson(input ?? {});
}

function restored(event: JsonObject | null, marks: readonly Truncation[] | null, kept: Kept): unknown {
  const payload = event?.['payload'];
  if (!marks || marks.length === 0 || !isJsonObject(payload)) return payload;
  const contents = new Map(marks.map(({ path, artifact_id }) => [path, kept.get(artifact_id)]));
  const whole = contents.get(formatPath(['payload']));
  if (whole) return JSON.parse(whole.text);
  return Object.fromEntries(
    Object.entries(payload).map(([name, value]) => {
      const found = contents.get(formatPath(['payload', name]));
      return [name, found ? (found.isJson ? (JSON.parse(found.text) as unknown) : found.text) : value];
    }),
  );
}

/** The SDK records what is no object as `{value}`, and would wrap the answer once more. An object it never wraps. */
function unwrapped(output: unknown): unknown {
  if (!isJsonObject(output) || Object.keys(output).length !== 1 || !Object.hasOwn(output, 'value')) return output;
  return isJsonObject(output['value']) ? output : output['value'];
}
