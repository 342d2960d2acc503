import type { z } from 'zod';
import { wireTime } from '../../platform/clock/clock.ts';
import { isTerminal } from '../lifecycle/lifecycle.states.ts';
import type { agentActivity, workspaceActivity } from './activity.contract.ts';
import type { CostlyRun, DayGroup, LastRuns, ModelGroup } from './activity.store.ts';

export type AgentActivity = z.output<(typeof agentActivity)['output']>;
export type WorkspaceActivity = z.output<(typeof workspaceActivity)['output']>;
type Bucket = AgentActivity['buckets'][number];
type Model = AgentActivity['model_mix'][number];
type Counts = Omit<Bucket, 'date'>;
type Costs = Pick<Counts, 'cost_amount' | 'cost_reported' | 'cost_estimated' | 'currency'>;

const USUAL_CURRENCY = 'USD';
const TITLE_LENGTH = 120;
/** Where an input says in words what is wanted. */
const TITLES = ['title', 'prompt', 'message', 'text', 'query', 'question', 'input'];
const DAY_MS = 86_400_000;

/** The currency that sums are in: dollars where there are any, otherwise what most was spent in. */
export function currencyOf(groups: readonly Pick<DayGroup, 'currency' | 'cost'>[]): string {
  const spent = new Map<string, number>();
  for (const { currency, cost } of groups)
    if (currency !== null) spent.set(currency, (spent.get(currency) ?? 0) + (cost ?? 0));
  if (spent.size === 0 || spent.has(USUAL_CURRENCY)) return USUAL_CURRENCY;
  return [...spent].reduce((most, one) => (one[1] > most[1] ? one : most))[0];
}

/** The days of a window in UTC, the last one is today. */
export function datesOf(now: Date, windowDays: number): string[] {
  const today = Date.parse(wireTime(now).slice(0, 10));
  return Array.from({ length: windowDays }, (_, index) => dateOf(today - (windowDays - 1 - index) * DAY_MS));
}

function dateOf(milliseconds: number): string {
  return wireTime(new Date(milliseconds)).slice(0, 10);
}

function nothing(currency: string): Counts {
  return { runs: 0, succeeded: 0, failed: 0, active: 0, ...noCosts(currency) };
}

function noCosts(currency: string): Costs {
  return { cost_amount: 0, cost_reported: 0, cost_estimated: 0, currency };
}

/** A cost whose worker did not say where it is from was reported by it. */
function addCost(
  sum: Costs,
  { currency, cost_source: source, cost }: Pick<DayGroup, 'currency' | 'cost_source' | 'cost'>,
): void {
  if (cost === null || currency !== sum.currency) return;
  sum[source === 'estimated' ? 'cost_estimated' : 'cost_reported'] += cost;
  sum.cost_amount = sum.cost_reported + sum.cost_estimated;
}

function addGroup(sum: Counts, group: DayGroup): void {
  const { status, runs } = group;
  sum.runs += runs;
  if (status === 'succeeded') sum.succeeded += runs;
  if (status === 'failed') sum.failed += runs;
  if (!isTerminal(status)) sum.active += runs;
  addCost(sum, group);
}

/** Sums and daily buckets. `dates`: a bucket for each, also where nothing ran; absent: only for days with runs. */
export function sumUp(groups: readonly DayGroup[], currency: string, dates?: readonly string[]) {
  const total = nothing(currency);
  const buckets = new Map((dates ?? []).map((date) => [date, { date, ...nothing(currency) }]));
  const others = new Map<string, Costs>();
  for (const group of groups) {
    addGroup(total, group);
    const bucket = buckets.get(group.date) ?? { date: group.date, ...nothing(currency) };
    buckets.set(group.date, bucket);
    addGroup(bucket, group);
    if (group.currency === null || group.currency === currency) continue;
    const other = others.get(group.currency) ?? noCosts(group.currency);
    others.set(group.currency, other);
    addCost(other, group);
  }
  const byDate = [...buckets.values()].sort((one, other) => (one.date < other.date ? -1 : 1));
  return { ...total, buckets: byDate, other_currencies: [...others.values()] };
}

/** What the models did, the one with the most runs first. */
export function modelMix(groups: readonly ModelGroup[], currency: string): Model[] {
  const models = new Map<string, Model>();
  for (const group of groups) {
    const { model, provider, runs } = group;
    const key = JSON.stringify([model, provider]);
    const entry = models.get(key) ?? { model, provider, runs: 0, ...noCosts(currency) };
    models.set(key, entry);
    entry.runs += runs;
    addCost(entry, group);
  }
  return [...models.values()].sort((one, other) => other.runs - one.runs || (one.model < other.model ? -1 : 1));
}

export interface AgentGroups {
  readonly days: readonly DayGroup[];
  readonly models: readonly ModelGroup[];
  readonly last: LastRuns | undefined;
}

export function agentSummary(
  agentId: string,
  { days, models, last }: AgentGroups,
  {
    windowDays,
    currency,
    dates,
  }: { readonly windowDays: number; readonly currency: string; readonly dates?: readonly string[] },
): AgentActivity {
  return {
    agent_id: agentId,
    window_days: windowDays,
    ...sumUp(days, currency, dates),
    model_mix: modelMix(models, currency),
    last_successful_run_id: last?.succeeded ?? null,
    last_failed_run_id: last?.failed ?? null,
  };
}

/** What a run is about, in its caller's words where there are any. */
export function titleOf({ input, handle, id }: Pick<CostlyRun, 'input' | 'handle' | 'id'>): string {
  const said = TITLES.map((name) => input[name]).find((value) => typeof value === 'string' && value.trim() !== '');
  const words = typeof said === 'string' ? said.trim().replaceAll(/\s+/g, ' ') : (handle ?? id);
  return words.length > TITLE_LENGTH ? `${words.slice(0, TITLE_LENGTH - 1).toWellFormed()}…` : words;
}

export function costlyView(run: CostlyRun): WorkspaceActivity['top_cost_runs'][number] {
  const { id, agent_id, status, created_at, usage } = run;
  return { run_id: id, agent_id, title: titleOf(run), status, created_at: wireTime(created_at), usage: { ...usage } };
}
