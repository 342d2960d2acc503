import type { Figure } from './report/figure.ts';
import type { Stage } from './stage/stage.ts';

/** `short` is what CI runs: fewer pairs, fewer samples, the same work. */
export type Form = 'full' | 'short';

/** What one row found: figures that have a target, and sentences that explain them. */
export interface Measurement {
  readonly figures: readonly Figure[];
  readonly notes: readonly string[];
}

/** One line of the list of speed targets. A new row is one file that exports one of these, named in `rows.ts`. */
export interface Row {
  readonly id: string;
  /** The work, in the words of the target. */
  readonly work: string;
  /** Whether the short form measures it when no row is named: what takes minutes, or says little at a small size, does not belong there. */
  readonly inShortForm: boolean;
  /** Measures floor and product in turns (see `pairs.ts`); what it opens it names to `stage.afterwards`. */
  measure(stage: Stage): Promise<Measurement>;
}
