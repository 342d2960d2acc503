/** The public Python SDK in a virtual environment below the data directory, where the machine can have it. */

import { rm } from 'node:fs/promises';
import path from 'node:path';
import { Child, environmentWith } from './children.ts';
import { DATA_DIRECTORY } from './control-plane.ts';

const PACKAGE = 'komodor-agentops';
const VERSION = '0.4.13';
const INSTALL_PATIENCE_MS = 120_000;
const CANDIDATES = ['python3', 'python3.13', 'python3.12', 'python3.11', 'python'];

const IS_RECENT = 'import sys; sys.exit(sys.version_info < (3, 11))';
const IS_INSTALLED = `import sys, importlib.metadata as m; sys.exit(m.version("${PACKAGE}") != "${VERSION}")`;

const DIRECTORY = path.resolve(DATA_DIRECTORY, 'python');
const INTERPRETER = path.join(DIRECTORY, 'bin/python');

/** The interpreter that has the SDK; undefined when it has to be installed first. */
export async function installedSdk(over: AbortSignal): Promise<string | undefined> {
  return (await succeeds([INTERPRETER, '-c', IS_INSTALLED], over)) ? INTERPRETER : undefined;
}

/**
 * Installs the SDK and answers the interpreter that has it.
 * @throws Error with the reason when that is not possible within two minutes.
 */
export async function installSdk(over: AbortSignal): Promise<string> {
  const signal = AbortSignal.any([over, AbortSignal.timeout(INSTALL_PATIENCE_MS)]);
  const python = await recentPython(signal);
  await rm(DIRECTORY, { recursive: true, force: true }); // an earlier attempt may have been cut short
  await run([python, '-m', 'venv', DIRECTORY], signal);
  await run([INTERPRETER, '-m', 'pip', 'install', '--quiet', `${PACKAGE}==${VERSION}`], signal);
  return INTERPRETER;
}

async function recentPython(signal: AbortSignal): Promise<string> {
  for (const candidate of CANDIDATES) if (await succeeds([candidate, '-c', IS_RECENT], signal)) return candidate;
  throw new Error('there is no Python 3.11 or later');
}

async function succeeds(command: readonly string[], signal: AbortSignal): Promise<boolean> {
  return run(command, signal).then(
    () => true,
    () => false,
  );
}

/** Runs a program to its end. When `signal` is aborted the program is ended. */
async function run(command: readonly string[], signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  let lastLine = 'it did not say why';
  const environment = environmentWith({ PIP_DISABLE_PIP_VERSION_CHECK: '1' });
  const child = new Child(command, { environment, onLine: (line) => (lastLine = line.trim() || lastLine) });
  const stop = (): void => void child.stop(1_000);
  signal.addEventListener('abort', stop);
  const code = await child.ended;
  signal.removeEventListener('abort', stop);
  if (signal.aborted) throw new Error(`${path.basename(command[0] ?? '')} took too long`);
  if (code !== 0) throw new Error(lastLine);
}
