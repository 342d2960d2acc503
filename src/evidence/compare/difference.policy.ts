import { formatPath, isJsonObject, type JsonPath } from '../../platform/json/json.ts';

/** One place where two values are not the same. What is absent is null. */
export interface Difference {
  readonly path: string;
  readonly left: unknown;
  readonly right: unknown;
}

/** The places where two JSON values differ, in the order of the left one's members and then of what only the right one has. */
export function* differencesOf(left: unknown, right: unknown, path: JsonPath = []): Generator<Difference> {
  if (Array.isArray(left) && Array.isArray(right)) {
    for (let index = 0; index < Math.max(left.length, right.length); index += 1)
      yield* differencesOf(left[index], right[index], [...path, index]);
  } else if (isJsonObject(left) && isJsonObject(right)) {
    for (const name of new Set([...Object.keys(left), ...Object.keys(right)]))
      yield* differencesOf(ownMember(left, name), ownMember(right, name), [...path, name]);
  } else if (left !== right) {
    yield { path: formatPath(path), left: left ?? null, right: right ?? null };
  }
}

/** Names are data: `constructor` is no member unless somebody sent it. */
function ownMember(object: Readonly<Record<string, unknown>>, name: string): unknown {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}
