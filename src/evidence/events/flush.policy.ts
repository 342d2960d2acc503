import { isJsonObject, type JsonObject } from '../../platform/json/json.ts';
import type { GivenBatch } from './batch.policy.ts';
import { readEvent } from './batch.policy.ts';
import type { RefusalCode } from './checks.policy.ts';

const METHOD = 'hooks/events';
const LONGEST_ID = 200;

/** A request to keep events. */
export interface FlushRequest {
  readonly id: string | number | null;
  readonly workerId: string;
  readonly events: readonly unknown[];
}

/** What is wrong with a request as a whole, in the terms of JSON-RPC 2.0. */
export interface FlushError {
  readonly id: string | number | null;
  readonly error: { readonly code: -32600 | -32601 | -32602; readonly message: string };
}

export function readFlush(body: unknown): FlushRequest | FlushError {
  if (!isJsonObject(body)) return wrong(null, -32600, 'The body is no JSON-RPC request');
  const id = body['id'] ?? null;
  if (typeof id !== 'string' && typeof id !== 'number' && id !== null)
    return wrong(null, -32600, 'id must be a text or a number');
  if (body['jsonrpc'] !== '2.0') return wrong(id, -32600, 'jsonrpc must be "2.0"');
  if (typeof body['method'] !== 'string') return wrong(id, -32600, 'method must be a text');
  if (body['method'] !== METHOD) return wrong(id, -32601, `The only method here is ${METHOD}`);
  const params = body['params'];
  if (!isJsonObject(params)) return wrong(id, -32602, 'params must be an object');
  const { worker_id: workerId, events } = params;
  if (typeof workerId !== 'string' || workerId === '' || workerId.length > LONGEST_ID)
    return wrong(id, -32602, `params.worker_id must be a text of 1 to ${LONGEST_ID} characters`);
  if (!Array.isArray(events)) return wrong(id, -32602, 'params.events must be a list');
  return { id, workerId, events };
}

function wrong(id: FlushError['id'], code: FlushError['error']['code'], message: string): FlushError {
  return { id, error: { code, message } };
}

/** An event that was left out, by its place in the whole batch. */
export interface LeftOut {
  readonly index: number;
  readonly code: RefusalCode | 'event.unknown_run';
}

/** What a batch holds of one run. */
export interface RunPart extends GivenBatch {
  readonly runId: string;
  /** The places of its events that can be kept, for when there is no such run. */
  readonly indexes: readonly number[];
}

/**
 * Sorts a batch by run, in the order of the events. The name of the run says where an event goes and is no part of it: the same
 * event sent to the run itself is the same. Process logs outside of a run name none, or `unknown`.
 */
export function partsOf(
  events: readonly unknown[],
  alteredOf: (index: number) => readonly string[] | undefined,
): { readonly parts: readonly RunPart[]; readonly leftOut: readonly LeftOut[] } {
  const parts = new Map<string, { -readonly [Key in keyof RunPart]: Mutable<RunPart[Key]> }>();
  const leftOut: LeftOut[] = [];
  for (const [index, given] of events.entries()) {
    const runId = isJsonObject(given) ? given['run_id'] : undefined;
    if (isJsonObject(given) && !isRunId(runId)) {
      leftOut.push({ index, code: 'event.unknown_run' });
      continue;
    }
    const read = readEvent(isJsonObject(given) ? withoutRun(given) : given, alteredOf(index));
    if (typeof read === 'string') leftOut.push({ index, code: read });
    if (!isRunId(runId)) continue;
    const part = parts.get(runId) ?? { runId, events: [], refused: [], indexes: [] };
    parts.set(runId, part);
    if (typeof read === 'string') part.refused.push({ index, code: read });
    else {
      part.events.push(read);
      part.indexes.push(index);
    }
  }
  return { parts: [...parts.values()], leftOut };
}

type Mutable<List> = List extends readonly (infer Item)[] ? Item[] : List;

function isRunId(runId: unknown): runId is string {
  return typeof runId === 'string' && runId !== '' && runId !== 'unknown' && runId.length <= LONGEST_ID;
}

function withoutRun({ run_id: _, ...event }: JsonObject): JsonObject {
  return event;
}
