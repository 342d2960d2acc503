import { environmentName, readValue, type SecretValue } from '../credentials/value.policy.ts';

/** What a worker is handed: texts by name, and several under names where its client can take them. */
export type Secrets = Readonly<Record<string, SecretValue>>;

/** A credential as it goes out. */
export interface NamedValue {
  readonly name: string;
  readonly value: string;
}

/** The first release of the SDK that takes a map. Earlier ones end their process over one, or strand the run. */
const TAKES_MAPS = [0, 3, 15] as const;
const RELEASE = /^(\d{1,6})\.(\d{1,6})\.(\d{1,6})$/;

/** Whether a worker's client takes values with parts; one that says nothing usable of its version does not. */
export function takesMaps(sdkVersion: string | null): boolean {
  const [, ...numbers] = RELEASE.exec(sdkVersion ?? '') ?? [];
  if (numbers.length === 0) return false;
  const at = TAKES_MAPS.findIndex((least, place) => Number(numbers[place]) !== least);
  return at === -1 || Number(numbers[at]) > (TAKES_MAPS[at] ?? 0);
}

/**
 * The secrets of a job, or of a worker. Parts that are empty stay out: clients mask what they were given, and masking nothing
 * masks everything. Where a client takes no maps each part is a text of its own, named as newer clients name it in the environment.
 */
export function secretsOf(values: readonly NamedValue[], withMaps: boolean): Secrets {
  return Object.fromEntries(values.flatMap(({ name, value }) => entriesOf(name, readValue(value), withMaps)));
}

function entriesOf(name: string, value: SecretValue, withMaps: boolean): [string, SecretValue][] {
  if (typeof value === 'string') return [[name, value]];
  const parts = Object.entries(value).filter(([, part]) => part !== '');
  if (withMaps) return [[name, Object.fromEntries(parts)]];
  return parts.map(([part, text]) => [`${environmentName(name)}__${environmentName(part)}`, text]);
}

/** Every text of a value by itself: what may turn up in evidence. */
export function textsOf(value: string): string[] {
  const read = readValue(value);
  return typeof read === 'string' ? [read] : [value, ...Object.values(read)].filter((text) => text !== '');
}
