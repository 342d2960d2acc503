import { partsOf } from '../capabilities/capabilities.policy.ts';
import type { Holdings, Origin, Statement } from './holdings.policy.ts';
import { ACCOUNT, isInside, isWhole, likeOf, type Confine, type Thing } from './scope.policy.ts';

export type Reason = 'granted' | 'no_grant' | 'expired' | 'out_of_scope' | 'principal_disabled';

/** Why something is allowed, or is not; with the statement that decided. */
export type Explanation = { readonly allowed: boolean; readonly reason: Reason } & Partial<Origin>;

/** What a capability is asked about: everything in the account, or one object of a kind. */
export type About =
  | { readonly kind: typeof ACCOUNT }
  /** `thing` is undefined when nobody looked it up, or when there is none: it is inside nothing that is not whole. */
  | { readonly kind: string; readonly thing: Thing | undefined };

export const WHOLE_ACCOUNT: About = { kind: ACCOUNT };

/** The kinds of which one must be held whole, so that the object itself does not matter: its own, and the capability's. */
export function kindsAsked(capability: string, about: About): readonly string[] {
  const [noun] = partsOf(capability);
  return about.kind === ACCOUNT ? [noun] : [about.kind, noun];
}

/**
 * The one place that decides: what is enforced, what `access/check` says and what lists show come from here.
 * `nowMs` is the process's monotonic clock.
 */
export function explain(held: Holdings, capability: string, about: About, nowMs: number): Explanation {
  if (held.isDisabled) return { allowed: false, reason: 'principal_disabled' };
  const kinds = kindsAsked(capability, about);
  const whole = held.wholly(capability, kinds, nowMs);
  if (whole) return { allowed: true, reason: 'granted', ...whole.origin };
  const { all } = held.of(capability);
  if (all.length === 0) return { allowed: false, reason: 'no_grant' };
  let expired: Statement | undefined;
  for (const statement of candidates(held, capability, about)) {
    if (!takesIn(statement, held.accountId, kinds, about)) continue;
    if (statement.endsAtMs > nowMs) return { allowed: true, reason: 'granted', ...statement.origin };
    expired ??= statement;
  }
  return expired
    ? { allowed: false, reason: 'expired', ...expired.origin }
    : { allowed: false, reason: 'out_of_scope' };
}

/** Those with an exact id matter only if it is the object's or its parents'. */
function candidates(held: Holdings, capability: string, about: About): readonly Statement[] {
  const { byId, others } = held.of(capability);
  const thing = 'thing' in about ? about.thing : undefined;
  const ids = thing ? [thing.id, ...thing.parents.map(({ id }) => id)] : [];
  return [...others, ...new Set(ids.flatMap((id) => byId.get(id) ?? []))];
}

function takesIn({ confines }: Statement, accountId: string, kinds: readonly string[], about: About): boolean {
  const thing = 'thing' in about ? about.thing : undefined;
  return confines.every(
    (confine) => isWhole(confine, accountId, kinds) || (thing !== undefined && isInside(confine, thing)),
  );
}

/** What a list shows of a kind: for the function `access_reaches` of the database. Undefined: all of it. */
export type Reach = Readonly<Record<string, 1 | readonly (readonly Reaching[])[]>>;

/** A confine, in the words of that function. */
interface Reaching {
  readonly kind?: string;
  readonly id?: string;
  readonly like?: string;
  readonly labels?: Readonly<Record<string, string>>;
}

/** Single exact ids are keys, which the database finds without reading the others; the rest is read row by row. */
export function reachOf(held: Holdings, capability: string, kind: string, nowMs: number): Reach | undefined {
  const kinds = kindsAsked(capability, { kind, thing: undefined });
  if (held.wholly(capability, kinds, nowMs)) return undefined;
  const reach: Record<string, 1> = {};
  const rest: Reaching[][] = [];
  const live = held.isDisabled ? [] : held.of(capability).all.filter(({ endsAtMs }) => endsAtMs > nowMs);
  for (const { confines } of live) {
    const left = confines.filter((confine) => !isWhole(confine, held.accountId, kinds));
    const [only] = left;
    if (only && left.length === 1 && isPlainId(only)) reach[`${only.kind}:${only.id}`] = 1;
    else rest.push(left.map(reachingOf));
  }
  return rest.length > 0 ? { ...reach, rest } : reach;
}

function isPlainId({ id, glob, labels }: Confine): boolean {
  return id !== '*' && glob === undefined && labels === undefined;
}

function reachingOf({ kind, id, glob, labels }: Confine): Reaching {
  return {
    ...(kind !== '*' && { kind }),
    ...(id !== '*' && { id }),
    ...(glob !== undefined && { like: likeOf(glob) }),
    ...(labels !== undefined && { labels }),
  };
}

/** One capability with one scope, as it is held. */
export interface Line extends Origin {
  readonly capability: string;
  /** The narrowest of its confines is the last one. */
  readonly confines: readonly Confine[];
}

/** What a principal holds now, a line for each capability and scope. */
export function linesOf(held: Holdings, capabilities: readonly string[], nowMs: number): Line[] {
  if (held.isDisabled) return [];
  return capabilities.flatMap((capability) =>
    held
      .of(capability)
      .all.filter(({ endsAtMs }) => endsAtMs > nowMs)
      .map(({ origin, confines }) => ({ ...origin, capability, confines })),
  );
}
