import { SETTINGS, type Config } from './settings.ts';

export type { Config } from './settings.ts';

/** The token under which the process's configuration is injected. */
export const CONFIG = Symbol('CONFIG');

/** A start that cannot go on, in one sentence that names the setting. */
export class StartRefused extends Error {}

const LOOPBACK = new Set(['127.0.0.1', '::1', 'localhost']);

/**
 * Reads every setting from `environment`. An empty variable counts as absent.
 * @throws StartRefused with one sentence naming the first setting that is wrong.
 */
export function readConfig(environment: Readonly<Record<string, string | undefined>>): Config {
  const read: Record<string, unknown> = {};
  for (const [name, { variable, schema, fallback, secret }] of Object.entries(SETTINGS)) {
    const given = environment[variable];
    const result = schema.safeParse(given === undefined || given === '' ? fallback : given);
    if (!result.success) {
      const shown = secret || given === undefined ? '' : ` (it is ${JSON.stringify(given.slice(0, 100))})`;
      throw new StartRefused(`${variable} ${result.error.issues[0]?.message ?? 'is not acceptable'}${shown}`);
    }
    read[name] = result.data;
  }
  const config = read as unknown as Config;
  assertSound(config, environment);
  return config;
}

/** What no setting can say alone. */
function assertSound(config: Config, environment: Readonly<Record<string, string | undefined>>): void {
  if (config.clockOffsetSeconds !== 0 && environment['NODE_ENV'] !== 'test') {
    throw new StartRefused(
      'SIGNALBOX_CLOCK_OFFSET_SECONDS puts the clock wrong and is for tests of the program, with NODE_ENV=test: leave it unset',
    );
  }
  if (config.auth === 'off' && !LOOPBACK.has(config.host)) {
    throw new StartRefused(
      'SIGNALBOX_AUTH=off is for loopback addresses only: set HOST to 127.0.0.1, or SIGNALBOX_AUTH to on',
    );
  }
  if (config.devLogin === 'on' && !LOOPBACK.has(config.host)) {
    throw new StartRefused(
      'SIGNALBOX_DEV_LOGIN=on is for loopback addresses only: set HOST to 127.0.0.1, or SIGNALBOX_DEV_LOGIN to off or anywhere',
    );
  }
  if (config.oidcIssuer !== undefined && config.oidcClientId === undefined)
    throw new StartRefused('SIGNALBOX_OIDC_CLIENT_ID must be set where SIGNALBOX_OIDC_ISSUER is');
}
