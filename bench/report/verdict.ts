import type { Conditions } from '../stage/machine.ts';
import type { Figure } from './figure.ts';

/** `noisy` says that the figure proves nothing, whatever it is. */
export type Verdict = 'met' | 'missed' | 'noisy';

const LIMIT_OF_SPREAD = 0.3;
/** With a quarter of the machine taken by others, two processes that should run side by side take turns. */
const LIMIT_OF_OTHER_WORK = 0.25;
/** A ratio this much worse than the committed one is a regression, if it is so twice in a row. */
const LIMIT_OF_REGRESSION = 0.3;

/** Whether the measured value lies on the right side of its target, noise or not. */
export function isWithin(figure: Figure): boolean {
  const { of, is, limit } = figure.target;
  const value = of === 'ratio' ? (figure.ratio ?? Number.NaN) : figure.product;
  return is === 'at most' ? value <= limit : value >= limit;
}

/** The verdict on a figure under the conditions it was measured in. */
export function verdictOn(figure: Figure, conditions: Conditions): Verdict {
  if (noiseIn(figure, conditions).length > 0) return 'noisy';
  return isWithin(figure) ? 'met' : 'missed';
}

/** Why a figure is noisy; empty when it is not. */
export function noiseIn(figure: Figure, { load, cores, otherCores }: Conditions): readonly string[] {
  const reasons: string[] = [];
  if (figure.spread > LIMIT_OF_SPREAD) reasons.push('spread');
  if (load > cores) reasons.push('load');
  if (otherCores !== null && otherCores > cores * LIMIT_OF_OTHER_WORK) reasons.push('other work');
  return reasons;
}

/** The guarded figures whose ratio got worse than `before` says by more than 30 %. */
export function regressions(now: readonly Figure[], before: readonly Figure[]): readonly Figure[] {
  return now.filter((figure) => {
    const committed = before.find(({ name }) => name === figure.name)?.ratio;
    if (!figure.guarded || figure.ratio === null || committed === undefined || committed === null) return false;
    const change = figure.target.is === 'at most' ? figure.ratio / committed : committed / figure.ratio;
    return change > 1 + LIMIT_OF_REGRESSION;
  });
}
