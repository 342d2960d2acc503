import { median, spread } from '../statistics.ts';

/** What a figure is held against: the product's own value, or its ratio to the floor. */
export interface Target {
  readonly of: 'ratio' | 'product';
  readonly is: 'at most' | 'at least';
  readonly limit: number;
}

/** One measured thing: medians over the pairs, and how far the pairs lay apart in what the target looks at. */
export interface Figure {
  readonly name: string;
  readonly unit: string;
  readonly floor: number | null;
  readonly product: number;
  /** The median of the pairs' ratios, product to floor. */
  readonly ratio: number | null;
  readonly spread: number;
  readonly target: Target;
  /** Whether `--check` fails on a worse ratio. Tails of few samples are shown and not guarded: they jump by themselves. */
  readonly guarded: boolean;
}

/** What a figure is about and held against, without the numbers. */
interface Subject {
  readonly name: string;
  readonly unit: string;
  readonly target: Target;
  readonly guarded?: boolean;
}

/** A figure with a floor. */
export function against(
  subject: Subject,
  pairs: readonly { readonly floor: number; readonly product: number }[],
): Figure {
  const ratios = pairs.map(({ floor, product }) => product / floor);
  const products = pairs.map(({ product }) => product);
  return {
    ...subject,
    floor: median(pairs.map(({ floor }) => floor)),
    product: median(products),
    ratio: median(ratios),
    spread: spread(subject.target.of === 'ratio' ? ratios : products),
    guarded: subject.guarded ?? true,
  };
}

/** A figure without a floor: its target is an amount. */
export function alone(subject: Subject, products: readonly number[]): Figure {
  return { ...subject, floor: null, product: median(products), ratio: null, spread: spread(products), guarded: false };
}
