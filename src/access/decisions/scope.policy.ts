/** Something that a capability is asked about, with what it belongs to, nearest first. */
export interface Thing {
  readonly kind: string;
  readonly id: string;
  readonly name?: string | undefined;
  readonly labels?: Readonly<Record<string, unknown>> | undefined;
  readonly parents: readonly Node[];
}

type Node = Omit<Thing, 'parents'>;

/** To what a statement is confined. Everything that it says must hold for the object, or for what the object belongs to. */
export interface Confine {
  /** A resource type, or `*`. */
  readonly kind: string;
  /** An exact id, or `*`. Nothing else in it is a wildcard. */
  readonly id: string;
  /** `*` is the only wildcard. */
  readonly glob: string | undefined;
  /** The object must have them all. */
  readonly labels: Readonly<Record<string, string>> | undefined;
}

/** What each kind belongs to. Whatever is not named here belongs to the account alone. */
const BELONGS: Readonly<Record<string, readonly string[]>> = {
  run: ['agent'],
  worker: ['agent'],
  approval: ['run', 'agent'],
  skill: ['agent'],
  worker_token: ['agent'],
};

/** The type whose only object is the account itself: a grant on it covers all that is in the account. */
export const ACCOUNT = 'account';

/** The kinds that objects of a kind may be reached through, the kind itself among them. */
export function chainOf(kind: string): readonly string[] {
  return [kind, ...(Object.hasOwn(BELONGS, kind) ? (BELONGS[kind] ?? []) : [])];
}

/** Reads a scope as it is stored. Undefined: it can match nothing, as a selector with a value that no label can have. */
export function confineOf(kind: string, id: string, selector: unknown): Confine | undefined {
  if (selector === null || selector === undefined) return { kind, id, glob: undefined, labels: undefined };
  if (typeof selector !== 'object' || Array.isArray(selector)) return undefined;
  const { name_glob: glob, ...labels } = selector as Readonly<Record<string, unknown>>;
  if (glob !== undefined && glob !== null && typeof glob !== 'string') return undefined;
  const pairs = Object.entries(labels);
  if (pairs.some(([, value]) => typeof value !== 'string')) return undefined;
  return {
    kind,
    id,
    glob: glob ?? undefined,
    labels: pairs.length > 0 ? (Object.fromEntries(pairs) as Record<string, string>) : undefined,
  };
}

/**
 * Whether it takes in every object of these kinds, so that nobody has to look at the object: what it covers is all there is
 * of some kind in each chain.
 */
export function isWhole({ kind, id, glob, labels }: Confine, accountId: string, kinds: readonly string[]): boolean {
  if (glob !== undefined || labels !== undefined) return false;
  if (kind === ACCOUNT) return id === '*' || id === accountId;
  if (id !== '*') return false;
  return kind === '*' || kinds.some((asked) => chainOf(asked).includes(kind));
}

/** Whether an object is inside: itself, or through what it belongs to. */
export function isInside(confine: Confine, thing: Thing): boolean {
  return matches(confine, thing) || thing.parents.some((parent) => matches(confine, parent));
}

function matches({ kind, id, glob, labels }: Confine, node: Node): boolean {
  if (kind !== '*' && kind !== node.kind) return false;
  if (id !== '*' && id !== node.id) return false;
  if (glob !== undefined && (node.name === undefined || !matchesGlob(glob, node.name))) return false;
  if (labels === undefined) return true;
  const had = node.labels ?? {};
  return Object.entries(labels).every(([key, value]) => Object.hasOwn(had, key) && had[key] === value);
}

/** In time linear in the name for each part: no pattern can make it think for long. */
export function matchesGlob(glob: string, name: string): boolean {
  const [first = '', ...rest] = glob.split('*');
  const last = rest.pop();
  if (last === undefined) return name === glob;
  if (!name.startsWith(first) || !name.endsWith(last) || name.length < first.length + last.length) return false;
  let from = first.length;
  const end = name.length - last.length;
  for (const part of rest) {
    const at = name.indexOf(part, from);
    if (at < 0 || at + part.length > end) return false;
    from = at + part.length;
  }
  return true;
}

/** The same for LIKE. */
export function likeOf(glob: string): string {
  return glob.replaceAll(/[\\%_]/g, String.raw`\$&`).replaceAll('*', '%');
}
