/** Serves an agent of a Signalbox control plane from a Node program. See README.md. */

export type { AgentDefinition, Skill } from './agent.ts';
export type { Approval, ApprovalRequest } from './approvals.ts';
export type { ConfigOp, WorkerConfig } from './config.ts';
export { ApprovalRefused, ConfigurationError, Refused, RunFailure, Unreachable } from './errors.ts';
export type { Handler } from './execution.ts';
export type { Secrets } from './job.ts';
export type { JsonObject } from './json.ts';
export { runAgent, type ProgramOptions } from './program.ts';
export type { ArtifactOptions, LogLevel, MessageType, Run, Span, SpanKind, Usage } from './run.ts';
export type { Timing } from './timing.ts';
export { serveAgent, type Health, type WorkerOptions } from './worker.ts';
