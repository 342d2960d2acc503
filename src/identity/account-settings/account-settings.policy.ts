import type { z } from 'zod';
import type { InputProblem } from '../../platform/json/problems.ts';
import type { In } from '../../platform/operation/operation.ts';
import type { AccountSettings, updateAccountSettings } from './account-settings.contract.ts';

type Update = In<typeof updateAccountSettings>;
type View = z.input<typeof AccountSettings>;

/** What an account decided that is enforced. Of limits null means as many as there are, of days for ever. */
export interface OwnSettings {
  readonly concurrent_runs: number | null;
  readonly queued_runs: number | null;
  readonly content: 'full' | 'metadata';
  readonly runs_days: number | null;
  readonly evidence_days: number | null;
  readonly sessions_days: number | null;
  readonly audit_days: number | null;
}

export interface SettingsRow extends OwnSettings {
  /** 0: nobody has ever decided anything. */
  readonly version: number;
}

export const NOTHING_DECIDED: SettingsRow = {
  version: 0,
  concurrent_runs: null,
  queued_runs: null,
  content: 'full',
  runs_days: null,
  evidence_days: null,
  sessions_days: null,
  audit_days: null,
};

/** What is true of every account in this build, whatever it would rather have. */
const FIXED = { limits: { storage_mb: null, requests_per_minute: null }, audit_reads: [] } as const;

export function settingsView(row: SettingsRow): View {
  const { version, concurrent_runs, queued_runs, content, runs_days, evidence_days, sessions_days, audit_days } = row;
  return {
    version,
    retention: { runs_days, evidence_days, sessions_days, audit_days },
    content,
    limits: { concurrent_runs, queued_runs, ...FIXED.limits },
    audit_reads: [...FIXED.audit_reads],
  };
}

/** The settings that would be promised and not kept. Saying once more what is true already is none of them. */
export function unenforced({ limits = {}, audit_reads: reads = [] }: Update): InputProblem[] {
  const refuse = (...path: readonly string[]): InputProblem => ({
    loc: ['body', ...path],
    msg: `This build does not enforce ${path.join('.')} yet, so it cannot be set`,
    type: 'not_enforced',
  });
  return [
    ...Object.entries(limits).flatMap(([key, value]) =>
      value !== null && key in FIXED.limits ? [refuse('limits', key)] : [],
    ),
    ...(reads.length > 0 ? [refuse('audit_reads')] : []),
  ];
}

/** The settings after an update, which leaves alone what it does not name. */
export function settingsAfter(before: OwnSettings, { limits = {}, retention = {}, content }: Update): OwnSettings {
  const named = { ...limits, ...retention, ...(content === undefined ? {} : { content }) };
  const after = Object.entries(before).map(([name, value]) => [name, name in named ? named[name as never] : value]);
  return Object.fromEntries(after) as OwnSettings;
}

const KEPT = ['runs_days', 'evidence_days', 'sessions_days'] as const;

/** Who did what must be known for at least as long as there is something that was done. */
export function retentionProblems(after: OwnSettings): InputProblem[] {
  const { audit_days: audit } = after;
  if (audit === null) return [];
  const longer = KEPT.filter((name) => after[name] === null || after[name] > audit);
  if (longer.length === 0) return [];
  const msg = `The audit trail must be kept at least as long as anything else, and ${longer.join(', ')} would be kept longer`;
  return [{ loc: ['body', 'retention', 'audit_days'], msg, type: 'value_error' }];
}
