import { isJsonObject, type JsonObject } from '../../platform/json/json.ts';

/** The way a worker talks; `0.3` is 0.3.0 and everything after it. */
export type Dialect = '0.1' | '0.2' | '0.3';

const RELEASE = /^\d+\.\d+\.\d+$/;
/** The worker library of this repository (`examples/worker`), which knows every frame that there is. */
const OURS = /^signalbox-worker\/\d+\.\d+\.\d+$/;
/** How 0.3.0 to about 0.3.4 named themselves: image tag and commit. */
const TAG_AND_COMMIT = /^.*\+[0-9a-f]{12}$/;

/**
 * Tells dialects apart by what a manifest holds, because its `sdk_version` alone says too little. What fits nothing known
 * is taken for 0.2.0, the most fragile.
 */
export function dialectOf(manifest: JsonObject): Dialect {
  const version = manifest['wire_protocol_version'];
  if (version === undefined || version === null) return '0.1';
  if (version !== 2) return '0.2';
  const sdk = manifest['sdk_version'];
  if (isOurs(sdk)) return '0.3';
  if (typeof sdk === 'string' && RELEASE.test(sdk)) return sdk.startsWith('0.2.') ? '0.2' : '0.3';
  const card = manifest['agent_card'];
  const hasUseCases = isJsonObject(card) && Array.isArray(card['use_cases']);
  const isNamedAsBefore = sdk === undefined || sdk === null || (typeof sdk === 'string' && TAG_AND_COMMIT.test(sdk));
  return hasUseCases && isNamedAsBefore ? '0.3' : '0.2';
}

function isOurs(sdkVersion: unknown): boolean {
  return typeof sdkVersion === 'string' && OURS.test(sdkVersion);
}

type Release = readonly [major: number, minor: number, patch: number];

/** Whether a worker's program is of this release or a later one. A worker without an SDK version promises nothing. */
export function isSince(
  first: Release,
  { dialect, sdk_version: version }: { readonly dialect: Dialect; readonly sdk_version: string | null },
): boolean {
  if (isOurs(version)) return true;
  if (dialect !== '0.3' || version === null || !RELEASE.test(version)) return false;
  const parts = version.split('.').map(Number);
  const differs = parts.findIndex((part, place) => part !== first[place]);
  return differs < 0 || (parts[differs] ?? 0) > (first[differs] ?? 0);
}

const MOST_SLOTS = 100;

/** How many runs a worker takes at once: one, unless it says otherwise, in the frame or in its manifest. */
export function slotsOf(inFrame: number | null | undefined, manifest: JsonObject): number {
  const said = inFrame ?? manifest['max_concurrent'];
  return typeof said === 'number' && Number.isInteger(said) ? Math.min(Math.max(said, 1), MOST_SLOTS) : 1;
}

/** What runs may ask of a worker. */
export interface Offers {
  readonly version: string;
  readonly labels: Readonly<Record<string, string>>;
  /** It answers tool calls from a recording where its input asks for that. */
  readonly canReplay: boolean;
}

/** Labels that are no text are left out. A worker without a version is `dev`, as the SDK calls it. */
export function offersOf(manifest: JsonObject): Offers {
  const { version, labels, agent_card: card } = manifest;
  const pairs = isJsonObject(labels) ? Object.entries(labels).filter(([, value]) => typeof value === 'string') : [];
  const capabilities = isJsonObject(card) ? card['capabilities'] : undefined;
  const replay = isJsonObject(capabilities) ? capabilities['replay'] : undefined;
  return {
    version: typeof version === 'string' && version !== '' ? version : 'dev',
    labels: Object.fromEntries(pairs) as Record<string, string>,
    canReplay: Array.isArray(replay) && replay.length > 0,
  };
}
