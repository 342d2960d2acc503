import { DeepJson } from './deep-json.ts';
import type { JsonPath } from './path.ts';

type Container = Readonly<Record<string, unknown>> | readonly unknown[];

/** How deep a JSON value is nested: 0 for text or a number, 1 for `[]` and `{}`. Level by level, so depth costs no stack. */
export function depthOf(value: unknown): number {
  let depth = 0;
  let deepest = 0;
  let level: readonly unknown[] = [value];
  while (level.length > 0) {
    const next: unknown[] = [];
    let hasContainers = false;
    for (const one of level) {
      if (one instanceof DeepJson) deepest = Math.max(deepest, depth + one.depth);
      else if (isContainer(one)) {
        hasContainers = true;
        for (const child of Array.isArray(one) ? one : Object.values(one)) if (isContainer(child)) next.push(child);
      }
    }
    if (hasContainers) depth += 1;
    level = next;
  }
  return Math.max(depth, deepest);
}

export interface DepthRule {
  /** How deep the value of a field may be nested. */
  readonly maxDepth: number;
  /**
   * How many levels of objects count as fields. 2: of `payload.args` and `payload.result` only the one that is too deep
   * is replaced, not the whole `payload`.
   */
  readonly fieldLevels: number;
}

/**
 * Replaces the field values of an object that are nested too deep, in place. Fields of fields are looked at first, so
 * that as much as possible stays. Answers how many were replaced.
 */
export function replaceTooDeep(
  record: Record<string, unknown>,
  rule: DepthRule,
  replace: (subtree: unknown, path: JsonPath) => unknown,
): number {
  return replaceIn({ record, path: [], allowed: rule.maxDepth, levels: rule.fieldLevels }, replace);
}

interface Search {
  readonly record: Record<string, unknown>;
  readonly path: JsonPath;
  readonly allowed: number;
  readonly levels: number;
}

function replaceIn(search: Search, replace: (subtree: unknown, path: JsonPath) => unknown): number {
  const { record, path, allowed, levels } = search;
  let replaced = 0;
  for (const [key, value] of Object.entries(record)) {
    if (!isContainer(value) || depthOf(value) <= allowed) continue;
    const place = [...path, key];
    if (levels > 1 && isRecord(value)) {
      replaced += replaceIn({ record: value, path: place, allowed: allowed - 1, levels: levels - 1 }, replace);
    } else {
      record[key] = replace(value, place);
      replaced += 1;
    }
  }
  return replaced;
}

function isContainer(value: unknown): value is Container {
  return typeof value === 'object' && value !== null;
}

function isRecord(value: Container): value is Record<string, unknown> {
  return !Array.isArray(value) && !(value instanceof DeepJson);
}
