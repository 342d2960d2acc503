import { readCarefully, type Flaw } from './careful-reader.ts';
import { isUnder, formatPath, shownPath, type JsonPath } from './path.ts';
import type { InputProblem } from './problems.ts';
import { scanJson, type JsonHazards } from './scan.ts';

/** A key or value that is not what was sent. */
export interface AlteredPlace {
  readonly path: JsonPath;
  readonly flaw: Flaw;
}

interface Refused {
  readonly ok: false;
  readonly problems: readonly InputProblem[];
}

export type StrictJson = { readonly ok: true; readonly value: unknown } | Refused;

/** Evidence as it can be kept. `depth` is that of the whole body, DeepJson included. */
export interface ReadEvidence {
  readonly ok: true;
  readonly value: unknown;
  readonly altered: readonly AlteredPlace[];
  readonly depth: number;
}

/** A caller learns what is wrong from some of the places as well as from all. */
const MAX_PROBLEMS = 20;

/** Evidence is built so far down, whatever limit its values have; what lies deeper is DeepJson. */
const BUILT_EVIDENCE_DEPTH = 128;

/**
 * So many altered places of a body are told exactly. From there on each is told as the place three steps below the root
 * (`payload.events[7]`), so that every altered event is still marked, and a body of millions of them stays small.
 */
const MAX_EXACT_PLACES = 10_000;
const COARSE_STEPS = 3;

const MESSAGES: Readonly<Record<Flaw, string>> = {
  text_nul: 'Text must not hold NUL',
  text_lone_surrogate: 'Text must not hold one half of a surrogate pair alone',
  text_not_utf8: 'Text must be UTF-8',
  number_inexact: 'The number cannot be kept exactly as it was sent',
};

const NOTHING_ALTERED: readonly AlteredPlace[] = [];

/** Reads a body that must be kept exactly or not at all: everything except evidence. */
export function parseStrict(body: Buffer, { maxDepth }: { readonly maxDepth: number }): StrictJson {
  const hazards = scanJson(body);
  if (hazards.hasInvalidUtf8) return notJson();
  if (hazards.depth > maxDepth) return tooDeep(maxDepth);
  const places: AlteredPlace[] = [];
  try {
    if (isHarmless(hazards)) return { ok: true, value: JSON.parse(body.toString('utf8')) };
    const value = readCarefully(body, hazards, {
      maxBuiltDepth: maxDepth,
      onFlaw: (flaw, pathOf) => {
        if (places.length < MAX_PROBLEMS) places.push({ path: pathOf(), flaw });
      },
    });
    return places.length > 0 ? { ok: false, problems: problemsOf(places) } : { ok: true, value };
  } catch (error) {
    return refusalOf(error);
  }
}

/** Reads evidence, which is never refused for what it contains, only for not being JSON. */
export function parseEvidence(body: Buffer, maxBuiltDepth: number = BUILT_EVIDENCE_DEPTH): ReadEvidence | Refused {
  const hazards = scanJson(body);
  const { depth } = hazards;
  try {
    if (isHarmless(hazards) && !hazards.hasInvalidUtf8 && depth <= maxBuiltDepth) {
      return { ok: true, value: JSON.parse(body.toString('utf8')), altered: NOTHING_ALTERED, depth };
    }
    const altered: AlteredPlace[] = [];
    const onFlaw = (flaw: Flaw, pathOf: () => JsonPath) => addPlace(altered, { path: pathOf(), flaw });
    return { ok: true, value: readCarefully(body, hazards, { maxBuiltDepth, onFlaw }), altered, depth };
  } catch (error) {
    return refusalOf(error);
  }
}

/** What would have been refused if the body were not evidence: at most 20 problems. */
export function problemsOf(places: readonly AlteredPlace[]): InputProblem[] {
  return places.slice(0, MAX_PROBLEMS).map(({ path, flaw }) => {
    return { loc: ['body', ...shownPath(path)], msg: MESSAGES[flaw], type: flaw };
  });
}

/** The altered places at or below a path, as texts relative to it (`payload.text`); '' is the path itself. */
export function alteredUnder(altered: readonly AlteredPlace[], prefix: JsonPath): string[] {
  const below = altered.filter(({ path }) => isUnder(path, prefix));
  return [...new Set(below.map(({ path }) => formatPath(path.slice(prefix.length))))];
}

/** For a list inside the body: position of an item → its altered places, relative to the item. */
export function alteredByItem(
  altered: readonly AlteredPlace[],
  list: JsonPath,
): ReadonlyMap<number, readonly string[]> {
  const byItem = new Map<number, string[]>();
  for (const { path } of altered) {
    const item = path[list.length];
    if (typeof item !== 'number' || !isUnder(path, list)) continue;
    const text = formatPath(path.slice(list.length + 1));
    const texts = byItem.get(item);
    if (!texts) byItem.set(item, [text]);
    else if (texts.at(-1) !== text) texts.push(text);
  }
  return byItem;
}

function isHarmless({ hasNul, hasLoneSurrogate, hasSuspectNumber }: JsonHazards): boolean {
  return !hasNul && !hasLoneSurrogate && !hasSuspectNumber;
}

function addPlace(places: AlteredPlace[], { path, flaw }: AlteredPlace): void {
  if (places.length < MAX_EXACT_PLACES) {
    places.push({ path, flaw });
    return;
  }
  const coarse = path.slice(0, COARSE_STEPS);
  const last = places.at(-1)?.path;
  if (last?.length !== coarse.length || !isUnder(last, coarse)) places.push({ path: coarse, flaw });
}

function refusalOf(error: unknown): Refused {
  if (error instanceof SyntaxError) return notJson();
  throw error;
}

function notJson(): Refused {
  return { ok: false, problems: [{ loc: ['body'], msg: 'The body is not JSON', type: 'json_invalid' }] };
}

function tooDeep(maxDepth: number): Refused {
  const msg = `The body is nested more than ${maxDepth} levels deep`;
  return { ok: false, problems: [{ loc: ['body'], msg, type: 'json_too_deep' }] };
}
