import { isDeepStrictEqual } from 'node:util';
import { isJsonObject, type JsonObject } from '../../platform/json/json.ts';
import type { WholeGeneration } from './versions.store.ts';

/** One place where two versions differ. */
export interface Difference {
  /** `/manifest/` and on as a JSON pointer does, or `/skills/` and the id of one. */
  path: string;
  before: unknown;
  after: unknown;
  /** One of the two is too long to be shown here: it stands in its version's manifest. */
  truncated: boolean;
}

type Compared = Pick<WholeGeneration, 'manifest' | 'skills'>;

const MOST_SHOWN = 500;
/** Of the JSON text of a value. */
const LONGEST_SHOWN = 8_192;

/** What is different from one version to another, in the order of the names. Lists are compared whole. */
export function differencesBetween(before: Compared, after: Compared): { shown: Difference[]; areMore: boolean } {
  const places = [
    ...placesIn('/manifest', before.manifest, after.manifest),
    ...placesIn('/skills', skillsById(before), skillsById(after)),
  ];
  return { shown: places.slice(0, MOST_SHOWN).map(shortened), areMore: places.length > MOST_SHOWN };
}

type Place = Omit<Difference, 'truncated'>;

function placesIn(path: string, before: JsonObject, after: JsonObject): Place[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
  return names.flatMap((name) => {
    const [one, other] = [ownOf(before, name), ownOf(after, name)];
    const place = `${path}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
    if (isJsonObject(one) && isJsonObject(other)) return placesIn(place, one, other);
    return isDeepStrictEqual(one, other) ? [] : [{ path: place, before: one ?? null, after: other ?? null }];
  });
}

/** `__proto__` is a name like any other. */
function ownOf(object: JsonObject, name: string): unknown {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

function skillsById({ skills }: Compared): JsonObject {
  return Object.fromEntries(skills.map(({ skill_id: id, name, md5 }) => [id, { name, md5 }]));
}

function shortened({ path, before, after }: Place): Difference {
  const [one, other] = [isShort(before) ? before : null, isShort(after) ? after : null];
  return { path, before: one, after: other, truncated: one !== before || other !== after };
}

function isShort(value: unknown): boolean {
  return JSON.stringify(value).length <= LONGEST_SHOWN;
}
