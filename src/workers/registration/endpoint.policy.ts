import type { JsonObject } from '../../platform/json/json.ts';

const LONGEST = 2_000;

/**
 * Where a worker says that it can be dialled, as text, whatever it is: whether anybody may is decided by whoever would dial.
 * Null where it says nothing, and where it says what cannot be an address. No worker is refused for it.
 */
export function endpointOf(manifest: JsonObject): string | null {
  const said = manifest['endpoint_url'];
  return typeof said === 'string' && said !== '' && said.length <= LONGEST ? said.toWellFormed() : null;
}

/**
 * A manifest without the user name and the password in its address: whoever may see workers is not to have them. What is left
 * still holds a user name, so nobody dials it.
 */
export function withoutLogin(manifest: JsonObject): JsonObject {
  const said = manifest['endpoint_url'];
  if (typeof said !== 'string' || !URL.canParse(said)) return manifest;
  const url = new URL(said);
  if (url.username === '' && url.password === '') return manifest;
  url.username = '***';
  url.password = '';
  return { ...manifest, endpoint_url: url.href };
}

/** Why what a manifest says is kept as no address; null where it says nothing, or where it is kept. */
export function endpointFlaw(manifest: JsonObject): string | null {
  const said = manifest['endpoint_url'];
  if (said === undefined || said === null || said === '' || endpointOf(manifest) !== null) return null;
  return typeof said === 'string' ? `its address is longer than ${LONGEST} characters` : 'its address is no text';
}
