import { wireTime } from '../../platform/clock/clock.ts';
import type { Findings, GapRow, IntakeRow } from './completeness.store.ts';

export interface Account {
  readonly runId: string;
  readonly hasEnded: boolean;
  readonly masked: number;
  readonly intake: readonly IntakeRow[];
  readonly gaps: readonly GapRow[];
  readonly findings: Findings | undefined;
}

type Counted = 'stored' | 'duplicate' | 'refused' | 'truncated' | 'altered';

export function toCompleteness({ runId, hasEnded, masked, intake, gaps, findings }: Account) {
  const sum = (name: Counted): number => intake.reduce((total, row) => total + row[name], 0);
  const [stored, duplicate, refused] = [sum('stored'), sum('duplicate'), sum('refused')];
  const lost = gaps.reduce((total, { from, to }) => total + to - from + 1, 0);
  const { late = 0, orphan_spans = 0, open_spans = 0, cut_artifacts = 0 } = findings ?? {};
  const isWhole = lost === 0 && refused === 0 && orphan_spans === 0 && open_spans === 0 && cut_artifacts === 0;
  return {
    run_id: runId,
    complete: hasEnded && isWhole,
    received: stored + duplicate + refused,
    ...{ stored, duplicate, refused },
    refused_codes: joinCodes(intake),
    truncated: sum('truncated'),
    altered: sum('altered'),
    late,
    masked,
    gaps: gaps.map(({ attempt, from, to }) => ({ attempt, stream: runId, from, to })),
    lost_batches: lost,
    ...{ orphan_spans, open_spans },
    clock_skew_ms: skewOf(intake),
    first_at: timeOf(
      intake.map((row) => row.first_at.getTime()),
      Math.min,
    ),
    last_at: timeOf(
      intake.map((row) => row.last_at.getTime()),
      Math.max,
    ),
    sealed: null,
  };
}

function joinCodes(intake: readonly IntakeRow[]): Record<string, number> {
  const codes = new Map<string, number>();
  for (const { refused_codes: counts } of intake)
    for (const [code, count] of Object.entries(counts)) codes.set(code, (codes.get(code) ?? 0) + count);
  return Object.fromEntries(codes);
}

function skewOf(intake: readonly IntakeRow[]): { readonly min: number; readonly max: number } | null {
  const min = intake.flatMap(({ skew_min_ms: skew }) => skew ?? []);
  const max = intake.flatMap(({ skew_max_ms: skew }) => skew ?? []);
  return min.length === 0 ? null : { min: Math.min(...min), max: Math.max(...max) };
}

function timeOf(times: readonly number[], choose: (...times: number[]) => number): string | null {
  return times.length === 0 ? null : wireTime(new Date(choose(...times)));
}
