/** `<what>:read` or `<what>:write`; writing includes reading. What a word covers is the room access's to say. */
export const SCOPE_FORM = /^[a-z][a-z0-9_]*:(read|write)$/;

/**
 * Whether a key with the scopes `wanted` can do nothing that a caller with the scopes `held` cannot. No scopes at all
 * means no narrowing.
 */
export function areScopesWithin(wanted: readonly string[], held: readonly string[]): boolean {
  if (held.length === 0) return true;
  return (
    wanted.length > 0 &&
    wanted.every((scope) => held.includes(scope) || held.includes(scope.replace(/:read$/, ':write')))
  );
}

const RFC_3339 = /^(\d{4})-(\d\d)-(\d\d)[Tt]([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)$/;

/** The moment that an RFC 3339 text names; undefined if it names none. A moment that has passed is a moment too. */
export function readMoment(text: string): Date | undefined {
  const [, year, month, day] = RFC_3339.exec(text) ?? [];
  if (!isDate(Number(year), Number(month), Number(day))) return undefined;
  return new Date(text.toUpperCase());
}

function isDate(year: number, month: number, day: number): boolean {
  if (!(month >= 1 && month <= 12)) return false;
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  const days = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1] ?? 0;
  return day >= 1 && day <= days;
}
