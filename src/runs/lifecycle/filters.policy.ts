import type { InputProblem } from '../../platform/json/problems.ts';

/** What a list of runs may be asked for that no index answers. */
export interface TextFilters {
  readonly errorText: string | null;
  /** As JSON; null: whatever labels there are. */
  readonly labels: string | null;
}

const LABEL = 'label.';
const MOST_DAYS = 31;
const LONGEST_VALUE = 10_000;
const DAY_MS = 86_400_000;

type Query = Readonly<Record<string, unknown>>;
export type Filtered = { readonly filters: TextFilters } | { readonly problems: readonly InputProblem[] };

/**
 * Reads `error_text` and `label.<name>` from a query. Both walk through runs, so they need an agent and a range of at most 31
 * days. Whatever else a query holds is passed over, as in every list.
 */
export function textFilters(query: Query, now: Date): Filtered {
  const problems: InputProblem[] = [];
  const labels: Record<string, string> = Object.create(null) as Record<string, string>;
  for (const [name, value] of Object.entries(query).filter(([key]) => key.startsWith(LABEL))) {
    const label = name.slice(LABEL.length);
    if (label === '') problems.push(problem(name, 'must name a label'));
    else if (typeof value !== 'string' || value.length > LONGEST_VALUE)
      problems.push(problem(name, 'must be one text'));
    else labels[label] = value;
  }
  const names = Object.keys(labels);
  const errorText = typeof query['error_text'] === 'string' ? query['error_text'] : null;
  if (errorText !== null || names.length > 0) problems.push(...unbounded(query, now));
  if (problems.length > 0) return { problems };
  return { filters: { errorText, labels: names.length === 0 ? null : JSON.stringify(labels) } };
}

function unbounded({ agent_id: agent, from, to }: Query, now: Date): InputProblem[] {
  const end = typeof to === 'string' ? Date.parse(to) : now.getTime();
  const days = typeof from === 'string' ? (end - Date.parse(from)) / DAY_MS : Number.POSITIVE_INFINITY;
  return [
    ...(typeof agent === 'string' ? [] : [problem('agent_id', 'is needed beside error_text and label')]),
    ...(days <= MOST_DAYS
      ? []
      : [problem('from', `error_text and label search at most ${MOST_DAYS} days: from is needed, and no earlier`)]),
  ];
}

function problem(name: string, msg: string): InputProblem {
  return { loc: ['query', name], msg, type: 'value_error' };
}
