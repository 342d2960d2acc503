import type { Form } from './row.ts';
import type { Stage } from './stage/stage.ts';

/** Floor and product, measured one right after the other: only their ratio means anything on a shared machine. */
export interface Pair<Floor, Product> {
  readonly floor: Floor;
  readonly product: Product;
}

/** Fewer than three pairs say nothing about spread. */
const PAIRS: Readonly<Record<Form, number>> = { full: 5, short: 3 };

/** How often a row measures. */
export function rounds(form: Form): number {
  return PAIRS[form];
}

/** Runs floor, product, floor, product … so that a machine that slows down slows both. */
export async function interleave<Floor, Product>(
  { form, say }: Pick<Stage, 'form' | 'say'>,
  floor: () => Promise<Floor>,
  product: () => Promise<Product>,
): Promise<readonly Pair<Floor, Product>[]> {
  const pairs: Pair<Floor, Product>[] = [];
  for (let round = 1; round <= rounds(form); round += 1) {
    say(`pair ${round} of ${rounds(form)}: floor`);
    const lowest = await floor();
    say(`pair ${round} of ${rounds(form)}: product`);
    pairs.push({ floor: lowest, product: await product() });
  }
  return pairs;
}
