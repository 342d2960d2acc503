import type { Rules } from './worker-config.contract.ts';

/** What the rules in force say to a worker that asks because of one of them. */
export type Governing =
  | { readonly outcome: 'ask'; readonly windowSeconds: number | null }
  | { readonly outcome: 'deny'; readonly ruleName: string }
  /** The rule is gone, and no other covers the tool. */
  | { readonly outcome: 'nothing' };

/** How the SDK calls the default of an agent where the rules do not name it. */
const DEFAULT_RULE = 'agent-default';

interface Question {
  readonly ruleId: string;
  readonly toolName: string;
  /** The rule stood in rules that were in force before. */
  readonly wasOurs: boolean;
}

/**
 * A worker may ask by rules that were replaced meanwhile, or by a rule of its own. What it asks by is not weakened: only a rule
 * that was ours and is gone governs nothing any more. Conditions on arguments are the worker's to check: a rule that covers the
 * tool counts here.
 */
export function governing(rules: Rules | null, { ruleId, toolName, wasOurs }: Question): Governing {
  if (!rules) return wasOurs ? NOTHING : { outcome: 'ask', windowSeconds: null };
  const named = rules.rules.find(({ id }) => id === ruleId);
  if (named) return verdictOf(rules, named) ?? byOthers(rules, toolName) ?? NOTHING; // who allows overrides the default
  if (isDefault(rules, ruleId)) return byDefault(rules) ?? byOthers(rules, toolName) ?? NOTHING;
  if (!wasOurs) return { outcome: 'ask', windowSeconds: rules.window_seconds ?? null };
  return byOthers(rules, toolName) ?? byDefault(rules) ?? NOTHING;
}

const NOTHING: Governing = { outcome: 'nothing' };

function verdictOf(rules: Rules, { outcome, name, window_seconds }: Rules['rules'][number]): Governing | undefined {
  if (outcome === 'deny') return { outcome, ruleName: name };
  if (outcome === 'ask') return { outcome, windowSeconds: window_seconds ?? rules.window_seconds ?? null };
  return undefined;
}

/** A rule with conditions may not cover this very call, so what it would refuse is asked about. */
function byOthers(rules: Rules, toolName: string): Governing | undefined {
  const other = rules.rules.find(
    ({ outcome, criteria }) =>
      outcome !== 'allow' && criteria.some(({ tool_patterns }) => tool_patterns.some((one) => covers(one, toolName))),
  );
  return other && { outcome: 'ask', windowSeconds: other.window_seconds ?? rules.window_seconds ?? null };
}

function isDefault({ default_rule_id: id }: Rules, ruleId: string): boolean {
  return ruleId === (id === '' ? DEFAULT_RULE : id);
}

function byDefault(rules: Rules): Governing | undefined {
  return verdictOf(rules, { id: '', name: rules.default_rule_name, outcome: rules.default_outcome, criteria: [] });
}

/** A glob over the whole name, in time that grows with both lengths and no more. A class of characters is taken for any character. */
export function covers(pattern: string, name: string): boolean {
  const glob = pattern.replace(/\[!?\]?[^\]]*\]/g, '?');
  let [at, inName, star, retry] = [0, 0, -1, 0];
  while (inName < name.length) {
    if (glob[at] === '*') [star, retry, at] = [at, inName, at + 1];
    else if (at < glob.length && (glob[at] === '?' || glob[at] === name[inName])) [at, inName] = [at + 1, inName + 1];
    else if (star >= 0) [at, retry, inName] = [star + 1, retry + 1, retry + 1];
    else return false;
  }
  while (glob[at] === '*') at += 1;
  return at === glob.length;
}
