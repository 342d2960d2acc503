/** A worker as a program: settings from the environment, signals of the operating system, an exit code. */

import { ConfigurationError, Refused, sentence } from './errors.ts';
import type { JsonObject } from './json.ts';
import { serveAgent, type WorkerOptions } from './worker.ts';

/** Everything that `serveAgent` takes; what the environment says may be left out. */
export type ProgramOptions<Input extends object = JsonObject> = Omit<
  WorkerOptions<Input>,
  'url' | 'token' | 'signal' | 'stopSignal'
> &
  Partial<Pick<WorkerOptions<Input>, 'url' | 'token'>>;

/**
 * Serves an agent as a program does. The environment, under the names that workers of the Python SDK use:
 * `AGENTOPS_URL` (http://127.0.0.1:8080), `AGENTOPS_WORKER_TOKEN`, `AGENTOPS_WORKER_ID`.
 *
 * SIGTERM or SIGINT drains: the runs under way are finished, then the process ends with 0. A second one aborts them. When the
 * control plane does not take this worker, one line says why and the exit code is 1. Nothing is thrown.
 */
export async function runAgent<Input extends object = JsonObject>(options: ProgramOptions<Input>): Promise<void> {
  const { env } = process;
  const drain = new AbortController();
  const stop = new AbortController();
  const onSignal = (): void => (drain.signal.aborted ? stop.abort() : drain.abort());
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, onSignal);
  try {
    await serveAgent({
      url: env['AGENTOPS_URL'] ?? 'http://127.0.0.1:8080',
      token: env['AGENTOPS_WORKER_TOKEN'] ?? '',
      workerId: env['AGENTOPS_WORKER_ID'],
      ...options,
      signal: drain.signal,
      stopSignal: stop.signal,
    });
  } catch (error) {
    const isExpected = error instanceof ConfigurationError || error instanceof Refused;
    console.error(`worker: ${isExpected ? sentence(error) : String((error as Error).stack ?? error)}`);
    process.exitCode = 1;
    if (error instanceof Refused) process.exit(); // a handler that ignores its signal would keep the process
  } finally {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.off(signal, onSignal);
  }
}
