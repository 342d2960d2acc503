import { scanJson } from '../../platform/json/scan.ts';

/**
 * Why no worker could read a job with this input, in words; undefined when any can. A worker that is handed what it cannot
 * parse ends its process, and so would the next one (worker-protocol.md A11). Every entry refuses such input: this stands
 * behind them. `deepest` is how many levels may be nested. An integer of too many digits cannot leave: numbers are doubles here.
 */
export function unreadable(input: unknown, deepest: number): string | undefined {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return 'the input is not an object';
  const { depth, hasLoneSurrogate } = scanJson(Buffer.from(JSON.stringify(input)));
  if (depth > deepest) return `the input is nested deeper than ${deepest} levels`;
  return hasLoneSurrogate ? 'the input holds one half of a surrogate pair alone' : undefined;
}
