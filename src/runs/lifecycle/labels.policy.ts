/** What is wrong with a map of labels, and at which of them; no label: with the map. */
export interface LabelProblem {
  readonly path: readonly string[];
  readonly message: string;
}

const MOST_LABELS = 50;
const LONGEST_NAME = 63;
/** Of all values together. A single one may be a long address, or a small document. */
const MOST_TEXT = 10_000;

/** The limits as a schema tells them; the length of all values together it cannot. */
export const LABEL_LIMITS = {
  type: 'object',
  additionalProperties: { type: 'string' },
  propertyNames: { minLength: 1, maxLength: LONGEST_NAME },
  maxProperties: MOST_LABELS,
} as const;

export function labelProblems(labels: Readonly<Record<string, unknown>>): LabelProblem[] {
  const entries = Object.entries(labels);
  if (entries.length > MOST_LABELS) return [{ path: [], message: `has more than ${MOST_LABELS} labels` }];
  const problems = entries.flatMap(([name, value]) => problemsOf(name, value));
  if (problems.length > 0) return problems;
  const length = entries.reduce((sum, [, value]) => sum + String(value).length, 0);
  return length > MOST_TEXT ? [{ path: [], message: `has values of more than ${MOST_TEXT} characters together` }] : [];
}

function problemsOf(name: string, value: unknown): LabelProblem[] {
  if (name === '' || name.length > LONGEST_NAME)
    return [{ path: [name], message: `a label’s name has 1 to ${LONGEST_NAME} characters` }];
  return typeof value === 'string' ? [] : [{ path: [name], message: 'a label is a text' }];
}
