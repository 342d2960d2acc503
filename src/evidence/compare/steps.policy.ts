import type { JsonObject } from '../../platform/json/json.ts';
import type { Truncation } from '../artifacts/artifacts.policy.ts';
import { contentOf } from '../spans/content.policy.ts';
import { toSkeleton } from '../spans/skeleton.policy.ts';
import { differencesOf, type Difference } from './difference.policy.ts';
import type { StepRow } from './steps.store.ts';

/** Attributes that differ between any two runs: ids, times, and what was used. */
const RUNS_OWN = /(^|_)(ids?|at|time|timestamp|duration|latency|elapsed|ms|seconds|usage|tokens|cost)$/i;

/** What counts of a step. */
export interface Step {
  readonly name: string;
  readonly kind: string;
  readonly status: string | null;
  readonly input: unknown;
  readonly output: unknown;
  readonly attributes: JsonObject;
  /** Of what was too large for its event: how large it was, and what the whole of it hashes to. */
  readonly whole: JsonObject;
}

export function stepOf(row: StepRow, hashes: ReadonlyMap<string, string>): Step {
  const { name, kind, status, start, end, start_truncated: startMarks, end_truncated: endMarks } = row;
  const { input, output, attributes } = contentOf(kind, start?.['payload'], end?.['payload']);
  const kept = Object.entries(attributes).filter(([attribute]) => !RUNS_OWN.test(attribute));
  const marks = [...(startMarks ?? []), ...(endMarks ?? [])];
  return {
    ...{ name, kind, status, input, output },
    attributes: Object.fromEntries(kept),
    whole: Object.fromEntries(marks.map((mark) => [mark.path, wholeOf(mark, hashes)])),
  };
}

function wholeOf({ artifact_id: id, bytes }: Truncation, hashes: ReadonlyMap<string, string>): JsonObject {
  return { bytes, sha256: hashes.get(id) ?? null };
}

/** Where two steps differ first; undefined where they do not. One that is missing has no name. */
export function firstDifference(left: Step | undefined, right: Step | undefined): Difference | undefined {
  if (!left || !right) return { path: 'name', left: left?.name ?? null, right: right?.name ?? null };
  return differencesOf(left, right).next().value ?? undefined;
}

/** A step beside the one at the same place of the other run. */
export function toPair(index: number, left: StepRow | undefined, right: StepRow | undefined, same: boolean) {
  return { index, left: left ? toSkeleton(left) : null, right: right ? toSkeleton(right) : null, same };
}
