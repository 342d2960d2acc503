import { isJsonObject, type JsonObject } from '../../platform/json/json.ts';

/** What a span worked on, what came of it, and what else its edges said. */
export interface SpanContent {
  readonly input: unknown;
  readonly output: unknown;
  readonly attributes: JsonObject;
  readonly replay: JsonObject | null;
}

/** In the order in which they count: calls made by the SDK, those of a hook, and anybody else's. */
const INPUTS = ['args', 'tool_input', 'input'];
const OUTPUTS = ['tool_response', 'result', 'output'];
/** They stand elsewhere in the answer. */
const SAID_ELSEWHERE = ['call_usage', 'usage', 'replay'];
/** What the SDK puts beside the result of a tool that returned an object, whose members are otherwise the payload. */
const BESIDE_RESULT = ['skill_name', 'hook_event', 'source'];

/** Joins the payloads of a span's two edges. Worker SDKs write results in three ways (worker-protocol.md §10). */
export function contentOf(kind: string, start: unknown, end: unknown): SpanContent {
  const [began, ended] = [entriesOf(start), entriesOf(end)];
  const input = firstOf(began, INPUTS) ?? firstOf(ended, INPUTS);
  const output = firstOf(ended, OUTPUTS) ?? (kind === 'tool' ? membersOf(ended) : undefined);
  const used = new Set([...SAID_ELSEWHERE, ...(input?.names ?? []), ...(output?.names ?? [])]);
  const replay = ended.find(([name]) => name === 'replay')?.[1];
  return {
    input: input?.value ?? null,
    output: output?.value ?? null,
    attributes: Object.fromEntries([...began, ...ended].filter(([name]) => !used.has(name))),
    replay: isJsonObject(replay) ? replay : null,
  };
}

type Members = readonly (readonly [name: string, value: unknown])[];
interface Found {
  readonly value: unknown;
  readonly names: readonly string[];
}

function entriesOf(payload: unknown): Members {
  return Object.entries(isJsonObject(payload) ? payload : {});
}

function firstOf(members: Members, names: readonly string[]): Found | undefined {
  const name = names.find((one) => members.some(([key]) => key === one));
  return name === undefined ? undefined : { value: members.find(([key]) => key === name)?.[1], names: [name] };
}

/** The result of a tool is spread over the payload. */
function membersOf(ended: Members): Found | undefined {
  const beside = new Set([...SAID_ELSEWHERE, ...BESIDE_RESULT, ...INPUTS]);
  const members = ended.filter(([name]) => !beside.has(name));
  return members.length === 0
    ? undefined
    : { value: Object.fromEntries(members), names: members.map(([name]) => name) };
}
