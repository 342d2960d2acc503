import { scanJson } from '../../platform/json/scan.ts';

/**
 * Why no worker could read a job with this input and snapshot, in words; undefined when any can. A worker that is handed what it cannot
 * parse ends its process, and so would the next one (worker-protocol.md A11). Every entry refuses such input: this stands
 * behind them. `deepest` is how many levels may be nested. An integer of too many digits cannot leave: numbers are doubles here.
 */
export function unreadableJob(
  { input, prior_snapshot: snapshot }: { readonly input: unknown; readonly prior_snapshot: unknown },
  deepest: number,
): string | undefined {
  return (
    unreadable('input', input, deepest) ?? (snapshot === null ? undefined : unreadable('snapshot', snapshot, deepest))
  );
}

function unreadable(name: string, value: unknown, deepest: number): string | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return `the ${name} is not an object`;
  const { depth, hasLoneSurrogate } = scanJson(Buffer.from(JSON.stringify(value)));
  if (depth > deepest) return `the ${name} is nested deeper than ${deepest} levels`;
  return hasLoneSurrogate ? `the ${name} holds one half of a surrogate pair alone` : undefined;
}

/** Why no worker could take these secrets, without any of them. The vault stores no such values: this stands behind it. */
export function unreadableSecrets(secrets: object): string | undefined {
  const { hasLoneSurrogate, hasNul } = scanJson(Buffer.from(JSON.stringify(secrets)));
  return hasLoneSurrogate || hasNul ? 'a secret holds what no environment takes' : undefined;
}
