import { execFile } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { describe, it } from '@jest/globals';

const run = promisify(execFile);

/** The package as it is published; nothing of it is changed. */
const PACKAGE = 'komodor-agentops';
/** The newest version, and the oldest whose clients wait after a failure. */
const VERSIONS = ['0.4.13', '0.3.0'];
/** The first version of the frames protocol: it asks again at once after any failure. */
export const FRAGILE_VERSIONS = ['0.2.0'];
/** It knows no frames: heartbeats, named events and REST. */
export const LEGACY_VERSIONS = ['0.1.1'];
const CANDIDATES = ['python3', 'python3.13', 'python3.12', 'python3.11', 'python'];
const INSTALL_LIMIT_MS = 300_000;

/** One installed version of the SDK. */
export interface Sdk {
  readonly version: string;
  /** The interpreter that imports it. */
  readonly python: string;
}

/** Why there is no SDK on this machine, in words. */
interface Missing {
  readonly reason: string;
}

/**
 * Declares `body` once for each SDK version. Where the SDK cannot be had, the suite says so and passes; in CI it fails, so
 * that it cannot go missing there unnoticed.
 */
export async function describeSdk(title: string, body: (sdk: Sdk) => void, versions = VERSIONS): Promise<void> {
  for (const version of versions) {
    const sdk = await sdkPython(version);
    if ('python' in sdk) describe(`${title}, SDK ${version}`, () => body(sdk));
    else declareMissing(title, version, sdk.reason);
  }
}

/** Installs one version into an environment of its own, once for all runs on this machine. */
async function sdkPython(version: string): Promise<Sdk | Missing> {
  const root = process.env['SIGNALBOX_SDK_VENVS'] ?? os.tmpdir();
  const directory = path.join(root, `signalbox-sdk-${version}`);
  const python = path.join(directory, 'bin', 'python');
  const ready = path.join(directory, 'ready');
  fs.mkdirSync(root, { recursive: true });
  const unlock = await lock(`${directory}.lock`);
  try {
    if (!fs.existsSync(ready)) {
      await install(directory, version);
      fs.writeFileSync(ready, version);
    }
    return { version, python };
  } catch (error) {
    return { reason: reasonOf(error) };
  } finally {
    unlock();
  }
}

function declareMissing(title: string, version: string, reason: string): void {
  const message = `SDK suite did not run: ${title}, SDK ${version}: ${reason}`;
  it(message, () => {
    if (process.env['CI']) throw new Error(message);
    console.warn(message);
  });
}

async function install(directory: string, version: string): Promise<void> {
  const base = await findPython();
  fs.rmSync(directory, { recursive: true, force: true });
  await run(base, ['-m', 'venv', directory], { timeout: INSTALL_LIMIT_MS });
  const python = path.join(directory, 'bin', 'python');
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--retries', '2'];
  await run(python, [...pip, `${PACKAGE}==${version}`], { timeout: INSTALL_LIMIT_MS });
  await run(python, ['-c', 'from komodor_agentops import AgentOpsWorker'], { timeout: INSTALL_LIMIT_MS });
}

async function findPython(): Promise<string> {
  for (const candidate of CANDIDATES) {
    const check = 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))';
    try {
      await run(candidate, ['-c', check]);
      return candidate;
    } catch {
      continue; // absent, too old, or without venv
    }
  }
  throw new Error('there is no Python 3.11 or newer with venv');
}

/** Test files run at the same time: one installs, the others wait. A lock whose owner has died is taken over. */
async function lock(file: string): Promise<() => void> {
  for (;;) {
    try {
      fs.writeFileSync(file, String(process.pid), { flag: 'wx' });
      return () => fs.rmSync(file, { force: true });
    } catch {
      if (!isAlive(readPid(file))) fs.rmSync(file, { force: true });
      await sleep(250);
    }
  }
}

function readPid(file: string): number | undefined {
  try {
    return Number(fs.readFileSync(file, 'utf8')) || process.pid; // empty: its owner is about to write its number
  } catch {
    return undefined;
  }
}

function isAlive(pid: number | undefined): boolean {
  try {
    return pid !== undefined && process.kill(pid, 0);
  } catch {
    return false;
  }
}

function reasonOf(error: unknown): string {
  const { stderr, message } = error as { readonly stderr?: string; readonly message?: string };
  const lines = (stderr ?? '').trim().split('\n');
  return lines.findLast((line) => /error/i.test(line)) ?? message ?? String(error);
}
