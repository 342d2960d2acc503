/** Starts the control plane as anyone would, `node dist/src/main.js`, and finds out how to talk to it. */

import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { isObject } from '../worker/src/json.ts';
import { Child } from './children.ts';

/** Where the control plane keeps its database, keys and the owner's API key. */
export const DATA_DIRECTORY = process.env['SIGNALBOX_DATA_DIR'] ?? '.signalbox';
/** The file with the API key of the first owner. */
export const KEY_FILE = path.join(DATA_DIRECTORY, 'bootstrap-api-key');

const PROGRAM = path.join(import.meta.dirname, '../../src/main.js');
/** The first start makes a database cluster and applies every migration. */
const START_PATIENCE_MS = 120_000;

/** The control plane as a child process. */
export class ControlPlane {
  readonly child: Child;
  /** Set by the line "listening" of its log. */
  #url: string | undefined;
  #lastError = 'it did not say why';

  /** `onEnd` is called with a sentence when the process ends, for whatever reason. `settings` go over the environment. */
  constructor(onEnd: (reason: Error) => void, settings: Readonly<Record<string, string>> = {}) {
    const environment = { ...process.env, ...settings, SIGNALBOX_LOG_LEVEL: 'info' }; // "listening" is said at that level
    this.child = new Child([process.execPath, PROGRAM], {
      environment,
      onLine: (line, from) => (from === 'stdout' ? this.#hearLog(line) : this.#hearError(line)),
    });
    void this.child.ended.then((code) =>
      onEnd(new Error(`the control plane ended with exit code ${code}: ${this.#lastError}`)),
    );
  }

  /** Resolves with the base address once the database is migrated and requests are served. */
  async ready(signal: AbortSignal): Promise<string> {
    for (let waited = 0; waited < START_PATIENCE_MS; waited += 200) {
      if (this.#url !== undefined && (await answers(`${this.#url}/readyz`, signal))) return this.#url;
      await pause(200, undefined, { signal });
    }
    throw new Error(`the control plane was not ready within ${START_PATIENCE_MS / 1_000} s: ${this.#lastError}`);
  }

  /** Its log: one JSON object a line. */
  #hearLog(line: string): void {
    const { msg, url, level, error } = parseLogLine(line);
    if (msg === 'listening' && typeof url === 'string') this.#url = url;
    if (level === 'error') this.#lastError = [msg, error].filter(Boolean).join(': ').split('\n', 1).join();
  }

  /** Its last word when it refuses to start: one sentence that names the setting to change. */
  #hearError(line: string): void {
    if (line.trim() !== '') this.#lastError = line.trim();
  }
}

/** Reads the owner's API key, which the very first start has made, or taken from the environment. */
export async function readKey(): Promise<string> {
  const key = await readFile(KEY_FILE, 'utf8').catch(() => process.env['SIGNALBOX_BOOTSTRAP_API_KEY']);
  if (key) return key.trim();
  throw new Error(`no API key: neither ${KEY_FILE} nor SIGNALBOX_BOOTSTRAP_API_KEY holds one`);
}

/** What is not a log line, such as the owner's key at the very first start, is passed over. */
function parseLogLine(line: string): Record<string, unknown> {
  try {
    const entry: unknown = JSON.parse(line);
    return isObject(entry) ? entry : {};
  } catch {
    return {};
  }
}

async function answers(url: string, signal: AbortSignal): Promise<boolean> {
  const response = await fetch(url, { signal }).catch(() => undefined);
  await response?.body?.cancel();
  return response?.ok === true;
}
