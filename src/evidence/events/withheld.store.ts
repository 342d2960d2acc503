/** What stays of an event where the account keeps no content: what kind of thing happened where, and nothing that was said. */
const KEPT = `ARRAY['event_type', 'event_id', 'event_sequence', 'timestamp', 'level', 'logger', 'role', 'message_type', 'name', 'status', 'kind',
  'trace_id', 'span_id', 'parent_span_id', 'hook_event_type', 'child_run_id']`;

/** The event as it may be kept, in SQL. `event` is a json value; which skill was used is no content. */
export function withoutContent(event: string): string {
  return `(SELECT coalesce(json_object_agg(key, value), '{}') FROM (
    SELECT key, value FROM json_each(${event}) WHERE key = ANY (${KEPT})
    UNION ALL
    SELECT 'payload', json_build_object('skill_name', ${event} #> '{payload,skill_name}')
     WHERE json_typeof(${event} #> '{payload,skill_name}') = 'string') AS kept)`;
}
