/** What a claim brings: `run_assignment.job` (worker-protocol §8.1). */

import { isObject, type JsonObject } from './json.ts';

/** Secrets by name. One that has several parts is a map of texts. */
export type Secrets = Readonly<Record<string, string | Readonly<Record<string, string>>>>;

export interface Job {
  readonly runId: string;
  /** Counts the offers of this run; a report that names an older one is declined. */
  readonly attempt: number | undefined;
  /** As the caller gave it. */
  readonly input: JsonObject;
  readonly secrets: Secrets;
  /** The state of the session that this run goes on with, as a worker left it. */
  readonly snapshot: JsonObject | undefined;
  readonly threadId: string | undefined;
  readonly parentRunId: string | undefined;
  /** Who asked for the run: a kind such as `api`, and an id. */
  readonly origin: { readonly kind: string; readonly id: string | undefined } | undefined;
  /** The request that made the run; the control plane's log and audit carry the same id. */
  readonly requestId: string | undefined;
  /** W3C trace context of the caller, to go on with. */
  readonly traceparent: string | undefined;
  /** When the run must have ended, over all attempts. The control plane cancels it then. */
  readonly deadline: Date | undefined;
  /** The versions of the configuration in force, as the job has them. */
  readonly versions: JsonObject;
}

/** @throws Error when the job is not one. */
export function parseJob(job: unknown): Job | undefined {
  if (job === undefined || job === null) return undefined;
  if (!isObject(job)) throw new Error('the assigned job is no object');
  const { run_id: runId, attempt, input, origin, deadline } = job;
  if (typeof runId !== 'string' || !isObject(input)) throw new Error('the assigned job has no run_id or no input');
  return {
    runId,
    attempt: typeof attempt === 'number' ? attempt : undefined,
    input,
    secrets: parseSecrets(job['secrets']),
    snapshot: isObject(job['snapshot']) ? job['snapshot'] : undefined,
    threadId: text(job['thread_id']),
    parentRunId: text(job['parent_run_id']),
    origin: isObject(origin) ? { kind: text(origin['kind']) ?? '', id: text(origin['id']) } : undefined,
    requestId: text(job['request_id']),
    traceparent: text(job['traceparent']),
    deadline: typeof deadline === 'string' ? new Date(deadline) : undefined,
    versions: job,
  };
}

/** What is neither a text nor a map of texts is left out. */
export function parseSecrets(secrets: unknown): Secrets {
  if (!isObject(secrets)) return {};
  const entries = Object.entries(secrets).filter(([, value]) => typeof value === 'string' || isObject(value));
  return Object.fromEntries(entries) as Secrets;
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
