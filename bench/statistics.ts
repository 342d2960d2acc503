/** The value below which the share `p` of all values lies, by nearest rank. */
export function quantile(values: readonly number[], p: number): number {
  if (values.length === 0) throw new Error('a quantile of nothing was asked for');
  const sorted = values.toSorted((a, b) => a - b);
  const rank = Math.max(1, Math.ceil(p * sorted.length));
  return sorted[rank - 1] ?? Number.NaN;
}

/** The middle value; the mean of the two middle ones when there is an even number. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const upper = sorted[Math.floor(sorted.length / 2)];
  const lower = sorted[Math.floor((sorted.length - 1) / 2)];
  if (upper === undefined || lower === undefined) throw new Error('a median of nothing was asked for');
  return (upper + lower) / 2;
}

/** From the lowest to the highest value, as a share of the median: nothing is left out as an outlier. */
export function spread(values: readonly number[]): number {
  const middle = median(values);
  return middle === 0 ? 0 : (Math.max(...values) - Math.min(...values)) / middle;
}
