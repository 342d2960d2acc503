/** How the demo looks on the screen. */

import { styleText } from 'node:util';
import type { AuditEntry, SpanSkeleton, StatusChange, Usage } from './api.ts';

export function heading(text: string): void {
  console.log(`\n${styleText('bold', text)}`);
}

export function line(text: string): void {
  console.log(`  ${text}`);
}

export function dim(text: string): string {
  return styleText('dim', text);
}

/** The states of a run: the first with its time, the others with their distance from it. */
export function printStates(changes: readonly StatusChange[]): void {
  const first = Date.parse(changes[0]?.at ?? '');
  for (const [index, { status, at, worker_id: worker }] of changes.entries()) {
    const time = index === 0 ? at : `+ ${seconds(Date.parse(at) - first)}`;
    line(`${status.padEnd(10)} ${time}${worker ? dim(`  ${worker}`) : ''}`);
  }
}

/** Spans as a tree. One whose parent is not among them stands at the root. */
export function printSpans(spans: readonly SpanSkeleton[]): void {
  const known = new Set(spans.map((span) => span.span_id));
  const below = (parent: string | undefined, depth: number): void => {
    for (const span of spans) {
      const home = span.parent_span_id !== null && known.has(span.parent_span_id) ? span.parent_span_id : undefined;
      if (home !== parent) continue;
      const label = `${'  '.repeat(depth)}${span.name}`;
      const kind = dim(span.kind.padEnd(30 - label.length));
      const duration = span.duration_ms === null ? 'open' : seconds(span.duration_ms);
      line(`${label} ${kind} ${duration}${span.status === 'error' ? '  error' : ''}`);
      below(span.span_id, depth + 1);
    }
  };
  below(undefined, 0);
}

export function printUsage(usage: Usage | undefined): void {
  if (usage?.total_tokens == null) return line('none reported');
  const { provider, model, input_tokens: input, output_tokens: output, total_tokens: total } = usage;
  line(`${total} tokens (${input ?? '?'} in, ${output ?? '?'} out) ${dim([provider, model].join(' / '))}`);
}

export function printAudit(entries: readonly AuditEntry[]): void {
  for (const entry of entries) {
    const actor = [entry.actor_type, entry.actor_principal_id].filter(Boolean).join(' ');
    line(`${entry.created_at}  ${entry.status}  ${entry.action.padEnd(22)} ${dim(actor)}`);
  }
}

function seconds(milliseconds: number): string {
  return `${(milliseconds / 1_000).toFixed(3)} s`;
}
