import { isJsonObject, parseEvidence, type JsonObject } from '../../platform/json/json.ts';
import type { Out } from '../../platform/operation/operation.ts';
import type { claimRun } from '../claims/claims.contract.ts';

/** What a claim of the worker would have brought. */
export type Job = NonNullable<Out<typeof claimRun>['job']>;

/**
 * A job as an A2A message (worker-protocol.md §20.6): its task is the run. What a claim would have brought beside input, secrets
 * and snapshot stands in the metadata.
 */
export function sendingOf({ input, secrets, snapshot, ...job }: Job): string {
  const message = {
    kind: 'message',
    role: 'user',
    messageId: `${job.run_id}.${job.attempt}`,
    taskId: job.run_id,
    contextId: job.thread_id,
    parts: [{ kind: 'data', data: input }],
    metadata: {
      ...job,
      _agentops_secrets: secrets,
      ...(snapshot === undefined ? {} : { _agentops_session_snapshot: snapshot }),
    },
  };
  const configuration = { blocking: true, acceptedOutputModes: ['application/json', 'text/plain'] };
  return requestOf('message/send', job.run_id, { message, configuration });
}

/** `tasks/get` and `tasks/cancel`. */
export function aboutTask(method: 'tasks/get' | 'tasks/cancel', runId: string): string {
  return requestOf(method, runId, { id: runId });
}

function requestOf(method: string, id: string, params: object): string {
  return JSON.stringify({ jsonrpc: '2.0', id, method, params });
}

/** What an endpoint said of a run. `unknown`: nothing that tells how it ended; `why` is in our words, since nobody masks it. */
export type Said =
  | { readonly kind: 'succeeded'; readonly output: JsonObject; readonly usage: unknown; readonly snapshot: unknown }
  | { readonly kind: 'failed'; readonly error: string; readonly snapshot: unknown }
  | { readonly kind: 'unknown'; readonly why: string };

const FAILED: ReadonlySet<unknown> = new Set(['failed', 'rejected', 'canceled', 'auth-required', 'input-required']);
const GOES_ON: ReadonlySet<unknown> = new Set(['submitted', 'working']);
const NO_REASON = 'the endpoint reported a failure without a text';
const DETAIL_LENGTH = 20_000;

/**
 * Reads what `message/send` or `tasks/get` was answered with. A JSON-RPC error answers `message/send`: the worker would not do it.
 * Of `tasks/get` it says nothing about the run.
 */
export function readAnswer(
  { status, body }: { readonly status: number; readonly body: Buffer },
  method: 'message/send' | 'tasks/get',
): Said {
  if (status < 200 || status > 299) return unknown(`it answered with HTTP ${status}`);
  const read = parseEvidence(body);
  if (!read.ok || !isJsonObject(read.value)) return unknown('its answer is no JSON object');
  const { result, error } = read.value;
  if (isJsonObject(error)) {
    const text = `JSON-RPC error ${String(error['code'])}: ${String(error['message'])}`.slice(0, DETAIL_LENGTH);
    if (method === 'message/send') return { kind: 'failed', error: text, snapshot: undefined };
    return unknown(`it says nothing but the error ${Number(error['code'])}`);
  }
  if (!isJsonObject(result)) return unknown('its answer holds no result');
  if (!Array.isArray(result['parts']) || result['status'] !== undefined) return readTask(result);
  if (method === 'tasks/get') return unknown('it is no task'); // whoever reads no method has done the work again
  return succeeded([result], result['metadata']);
}

function readTask(task: JsonObject): Said {
  const status = isJsonObject(task['status']) ? task['status'] : {};
  const message = isJsonObject(status['message']) ? status['message'] : {};
  const about = { ...objectOf(task['metadata']), ...objectOf(message['metadata']) };
  if (status['state'] === 'completed') {
    const artifacts = Array.isArray(task['artifacts']) ? task['artifacts'].filter(isJsonObject) : [];
    return succeeded(artifacts.length > 0 ? artifacts : [message], about);
  }
  if (!FAILED.has(status['state']))
    return unknown(GOES_ON.has(status['state']) ? 'its task goes on' : 'its task is in no known state');
  const text = textOf(partsIn([message])) || `${NO_REASON} (${String(status['state'])})`;
  return { kind: 'failed', error: text, snapshot: about[SNAPSHOT] };
}

const SNAPSHOT = '_agentops_session_snapshot';

/** Data parts become one object, of two equal keys the later; text goes to `text`. */
function succeeded(holders: readonly JsonObject[], metadata: unknown): Said {
  const parts = partsIn(holders);
  const about = objectOf(metadata);
  const text = textOf(parts);
  const data = parts.flatMap((part) => (isJsonObject(part['data']) ? [part['data']] : []));
  let output: JsonObject = text === '' ? {} : { text };
  for (const one of data) output = { ...output, ...one };
  return { kind: 'succeeded', output, usage: about['usage'], snapshot: about[SNAPSHOT] };
}

function partsIn(holders: readonly JsonObject[]): JsonObject[] {
  return holders.flatMap(({ parts }) => (Array.isArray(parts) ? parts.filter(isJsonObject) : []));
}

function textOf(parts: readonly JsonObject[]): string {
  return parts.flatMap(({ text }) => (typeof text === 'string' ? [text] : [])).join('\n');
}

function objectOf(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}

function unknown(why: string): Said {
  return { kind: 'unknown', why };
}
