/** What the suite reads of a run. */
export interface RunView {
  readonly run_id: string;
  readonly agent_id: string;
  readonly status: string;
  readonly input: Readonly<Record<string, unknown>>;
  readonly output: Readonly<Record<string, unknown>> | null;
  readonly error: string | null;
  readonly usage: Readonly<Record<string, unknown>>;
  readonly worker_id: string | null;
  readonly attempt: number;
  readonly thread_id: string;
  readonly created_at: string;
  readonly claimed_at: string | null;
  readonly started_at: string | null;
  readonly finished_at: string | null;
  readonly tool_calls: number;
}

/** What the suite reads of a run's detail. */
export interface RunDetail extends RunView {
  readonly diagnostics: Readonly<Record<string, unknown>> | null;
  readonly log_events: readonly LogLine[];
  readonly messages: readonly Message[];
  readonly trace_events: readonly TraceEvent[];
}

export interface LogLine {
  readonly level: string;
  readonly message: string;
  readonly timestamp: string;
  readonly event_id: string | null;
  readonly event_sequence: number | null;
}

export interface Message {
  readonly role: string;
  readonly message_type: string;
  readonly content: string;
  readonly timestamp: string;
}

export interface TraceEvent {
  readonly event_type: string;
  readonly span_id: string;
  readonly parent_span_id: string | null;
  readonly span_kind: string;
  readonly name: string;
  readonly status: string | null;
  readonly payload: Readonly<Record<string, unknown>>;
}

export interface Span {
  readonly span_id: string;
  readonly parent_span_id: string | null;
  readonly kind: string;
  readonly name: string;
  readonly status: string | null;
  readonly started_at: string | null;
  readonly ended_at: string | null;
  readonly duration_ms: number | null;
  readonly total_tokens: number | null;
}

/** An event as a run's stream shows it. */
export interface EventView {
  readonly seq: number;
  readonly event_type: string;
  readonly event_id: string;
  readonly event_sequence: number;
  readonly content?: string | null;
  readonly name?: string | null;
  readonly payload?: Readonly<Record<string, unknown>>;
  readonly altered?: readonly string[];
  readonly truncated?: readonly { readonly path: string; readonly artifact_id: string; readonly bytes: number }[];
}

export interface AgentView {
  readonly agent_id: string;
  readonly id_slug: string;
  readonly status: string;
  readonly version: string;
  readonly agent_card: Readonly<Record<string, unknown>>;
  readonly instances: readonly { readonly worker_id: string; readonly is_online: boolean; readonly busy: boolean }[];
  readonly instances_busy: number;
  readonly instances_free: number;
}

export interface InvokeAnswer {
  readonly run_id: string;
  readonly event_id: string;
  readonly agent_id: string;
  readonly status: string;
  readonly error: string | null;
  readonly output: Readonly<Record<string, unknown>> | null;
  readonly usage: Readonly<Record<string, unknown>>;
}
