import { partsOf } from '../capabilities/capabilities.policy.ts';

/** The words of scopes are the plurals of what capabilities are about; these have none, or another. */
const WORDS: Readonly<Record<string, string>> = { audit: 'audit' };

/** The word by which a key's scopes name what a capability is about: `runs` for `run.cancel`. */
export function scopeWordOf(capability: string): string {
  const [noun] = partsOf(capability);
  return WORDS[noun] ?? `${noun}s`;
}

/**
 * Whether a key's scopes let a capability through. `runs:read` lets `run.read` through, `runs:write` everything about
 * runs. No scopes: no narrowing.
 */
export function isWithinScopes(capability: string, scopes: readonly string[]): boolean {
  if (scopes.length === 0) return true;
  const word = scopeWordOf(capability);
  const isRead = partsOf(capability)[1] === 'read';
  return scopes.includes(`${word}:write`) || (isRead && scopes.includes(`${word}:read`));
}

/** What is left of what a principal holds when it comes with a narrowed key. */
export function heldWithin(capabilities: ReadonlySet<string>, scopes: readonly string[]): ReadonlySet<string> {
  if (scopes.length === 0) return capabilities;
  return new Set([...capabilities].filter((capability) => isWithinScopes(capability, scopes)));
}
