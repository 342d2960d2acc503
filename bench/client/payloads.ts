import { randomUUID } from 'node:crypto';
import type { JsonObject } from './json-client.ts';

/** What every invoke carries; the floors store the same. */
export const RUN_INPUT: JsonObject = { prompt: 'hello' };

/** The MD5 of nothing, which is what a worker without skills sends. */
export const NO_SKILLS = 'd41d8cd98f00b204e9800998ecf8427e';

/** A new id for a frame. */
export function messageId(): string {
  return `msg_${randomUUID().replaceAll('-', '')}`;
}

/** A manifest with the members by which a server tells a modern SDK from older ones. */
export function manifestOf(agent: string): JsonObject {
  return {
    agent_id: agent,
    name: agent,
    description: 'does nothing, fast',
    version: '1',
    owner: 'bench',
    repo: 'bench',
    labels: {},
    tools: [],
    tools_complete: true,
    default_input: {},
    input_schema: {},
    capabilities: {},
    agent_card: { use_cases: [], skills: [] },
    triggers: [],
    wire_protocol_version: 2,
    sdk_version: '0.4.13',
  };
}

/** The one batch of a no-op run, five events: a tool call, what was said about it, a log line and the output. */
export function noOpEvents(runId: string): readonly JsonObject[] {
  const eventId = `evt_${randomUUID()}`;
  const spanId = `span_${randomUUID().replaceAll('-', '')}`;
  const span = { kind: 'tool', name: 'echo', span_id: spanId, trace_id: runId };
  return [
    { event_type: 'span.started', ...span, payload: { args: { text: 'hello' } } },
    { event_type: 'span.ended', ...span, status: 'ok', payload: { result: 'hello' } },
    { event_type: 'message.created', role: 'assistant', message_type: 'tool_call', content: 'echo', payload: {} },
    { event_type: 'log.created', level: 'INFO', logger: 'bench', content: 'the tool has answered', payload: {} },
    { event_type: 'output.updated', payload: { text: 'done' } },
  ].map((event, index) => ({
    ...event,
    event_id: eventId,
    event_sequence: index + 1,
    timestamp: new Date().toISOString(),
    source: 'sdk',
    metadata: {},
  }));
}
