import { Inject, Injectable } from '@nestjs/common';
import type { In, OpContext, Out } from '../../platform/operation/operation.ts';
import { Decider } from '../../platform/operation/ports.ts';
import { ContentWithheld, RunLifecycle, RunNotFound, isTerminal, toSummary, type RunRow } from '../../runs/index.ts';
import type { RunPlace } from '../events/log.store.ts';
import { dayOf } from '../events/view.policy.ts';
import { RunNotFinished, type compareRuns } from './compare.contract.ts';
import { differencesOf } from './difference.policy.ts';
import { firstDifference, stepOf, toPair, type Step } from './steps.policy.ts';
import { countSteps, hashesOf, readSteps, type StepRow } from './steps.store.ts';

type Comparison = Out<typeof compareRuns>;

const MOST_STEPS = 1_000;
const MOST_DIFFERENCES = 1_000;
/** Events may hold a quarter of a megabyte each: so many steps of each run are in memory at a time. */
const STEPS_A_PAGE = 50;

/** Two runs beside each other. */
@Injectable()
export class RunComparisons {
  constructor(
    @Inject(RunLifecycle) private readonly runs: RunLifecycle,
    @Inject(Decider) private readonly decider: Decider,
  ) {}

  async compare(ctx: OpContext, { run_id: leftId, with: rightId }: In<typeof compareRuns>): Promise<Comparison> {
    const left = await this.runs.find(ctx, leftId);
    if ((await this.decider.decide(ctx.actor, 'run.read', { run: rightId })) !== 'allow') throw RunNotFound();
    const right = await this.runs.find(ctx, rightId);
    if (left.is_withheld || right.is_withheld) throw ContentWithheld(); // two that say nothing would look the same
    if (!isTerminal(left.status)) throw RunNotFinished();
    if (!isTerminal(right.status)) throw RunNotFinished({ message: 'The run to compare with has not ended yet' });
    const places = [placeOf(ctx, left), placeOf(ctx, right)] as const;
    const { steps, diverges_at } = await compareSteps(ctx, places);
    const output_diff = outputDifferences(left, right);
    const alike = diverges_at === null && output_diff.length === 0 && left.status === right.status;
    const sameLength = (await countSteps(ctx, places[0])) === (await countSteps(ctx, places[1]));
    return {
      ...{ left: leftId, right: rightId, same: alike && sameLength, diverges_at, steps, output_diff },
      usage: { left: toSummary(left).usage ?? {}, right: toSummary(right).usage ?? {} },
    };
  }
}

/** Page by page, so that what is in memory does not grow with the runs. */
async function compareSteps(
  ctx: OpContext,
  [left, right]: readonly [RunPlace, RunPlace],
): Promise<Pick<Comparison, 'steps' | 'diverges_at'>> {
  const steps: Comparison['steps'] = [];
  let diverges: Comparison['diverges_at'] = null;
  for (let seqs: readonly [number, number] = [0, 0]; steps.length < MOST_STEPS;) {
    const one = await pageOf(ctx, left, seqs[0]);
    const other = await pageOf(ctx, right, seqs[1]);
    const length = Math.max(one.rows.length, other.rows.length);
    for (let at = 0; at < length; at += 1) {
      const difference = firstDifference(one.steps[at], other.steps[at]);
      const index = steps.length;
      if (difference) diverges ??= { index, ...difference };
      steps.push(toPair(index, one.rows[at], other.rows[at], !difference));
    }
    if (length < STEPS_A_PAGE) break;
    seqs = [one.last, other.last];
  }
  return { steps, diverges_at: diverges };
}

async function pageOf(
  ctx: OpContext,
  place: RunPlace,
  after: number,
): Promise<{ readonly rows: readonly StepRow[]; readonly steps: readonly Step[]; readonly last: number }> {
  const rows = await readSteps(ctx, place, after, STEPS_A_PAGE);
  const marks = rows.flatMap(({ start_truncated: start, end_truncated: end }) => [...(start ?? []), ...(end ?? [])]);
  const hashes = await hashesOf(
    ctx,
    place,
    marks.map(({ artifact_id: id }) => id),
  );
  return { rows, steps: rows.map((row) => stepOf(row, hashes)), last: rows.at(-1)?.first_seq ?? after };
}

function outputDifferences(left: RunRow, right: RunRow): Comparison['output_diff'] {
  const found: Comparison['output_diff'] = [];
  for (const { path, left: before, right: after } of differencesOf(left.output, right.output)) {
    if (found.push({ path, before, after }) >= MOST_DIFFERENCES) break;
  }
  return found;
}

function placeOf({ actor }: OpContext, run: RunRow): RunPlace {
  return { accountId: actor.accountId, runId: run.id, day: dayOf(run.created_at) };
}
