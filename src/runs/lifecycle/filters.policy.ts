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
  const asked = [...(errorText === null ? [] : ['error_text']), ...names.map((name) => LABEL + name)];
  const missing = missingBounds(query, now);
  if (missing !== undefined) problems.push(...asked.map((name) => problem(name, missing)));
  if (problems.length > 0) return { problems };
  return { filters: { errorText, labels: names.length === 0 ? null : JSON.stringify(labels) } };
}

/** What is missing for a walk through runs, in words. */
function missingBounds({ agent_id: agent, from, to }: Query, now: Date): string | undefined {
  if (typeof agent !== 'string') return 'needs an agent_id beside it';
  const end = typeof to === 'string' ? Date.parse(to) : now.getTime();
  const days = typeof from === 'string' ? (end - Date.parse(from)) / DAY_MS : Number.POSITIVE_INFINITY;
  return days <= MOST_DAYS
    ? undefined
    : `needs a range of at most ${MOST_DAYS} days beside it: from, and to unless it is now`;
}

function problem(name: string, msg: string): InputProblem {
  return { loc: ['query', name], msg, type: 'value_error' };
}
