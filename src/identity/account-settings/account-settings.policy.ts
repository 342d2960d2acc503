import type { z } from 'zod';
import type { InputProblem } from '../../platform/json/problems.ts';
import type { In } from '../../platform/operation/operation.ts';
import type { AccountSettings, updateAccountSettings } from './account-settings.contract.ts';

type Update = In<typeof updateAccountSettings>;
type View = z.input<typeof AccountSettings>;

/** What an account decided that is enforced. Null: as many as there are. */
export interface OwnLimits {
  readonly concurrent_runs: number | null;
  readonly queued_runs: number | null;
}

export interface SettingsRow extends OwnLimits {
  /** 0: nobody has ever decided anything. */
  readonly version: number;
}

/** What is true of every account in this build, whatever it would rather have. */
const FIXED = {
  retention: { runs_days: null, evidence_days: null, sessions_days: null, audit_days: null },
  content: 'full',
  limits: { storage_mb: null, requests_per_minute: null },
  audit_reads: [],
} as const;

export function settingsView({ version, concurrent_runs, queued_runs }: SettingsRow): View {
  return {
    version,
    retention: FIXED.retention,
    content: FIXED.content,
    limits: { concurrent_runs, queued_runs, ...FIXED.limits },
    audit_reads: [...FIXED.audit_reads],
  };
}

/** The settings that would be promised and not kept. Saying once more what is true already is none of them. */
export function unenforced({ retention = {}, content, limits = {}, audit_reads: reads = [] }: Update): InputProblem[] {
  const refuse = (...path: readonly string[]): InputProblem => ({
    loc: ['body', ...path],
    msg: `This build does not enforce ${path.join('.')} yet, so it cannot be set`,
    type: 'not_enforced',
  });
  const promised = <Group extends object>(group: Group, fixed: object, name: string): InputProblem[] =>
    Object.entries(group).flatMap(([key, value]) => (value !== null && key in fixed ? [refuse(name, key)] : []));
  return [
    ...promised(retention, FIXED.retention, 'retention'),
    ...(content === undefined || content === FIXED.content ? [] : [refuse('content')]),
    ...promised(limits, FIXED.limits, 'limits'),
    ...(reads.length > 0 ? [refuse('audit_reads')] : []),
  ];
}

/** The limits after an update, which leaves alone what it does not name. */
export function limitsAfter(before: OwnLimits, { limits = {} }: Update): OwnLimits {
  const { concurrent_runs = before.concurrent_runs, queued_runs = before.queued_runs } = limits;
  return { concurrent_runs, queued_runs };
}
