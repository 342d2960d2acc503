import { describe, expect, it } from '@jest/globals';
import {
  NOTHING_DECIDED,
  retentionProblems,
  settingsAfter,
  settingsView,
  unenforced,
} from './account-settings.policy.ts';

const { version: _, ...UNDECIDED } = NOTHING_DECIDED;

describe('the settings of an account', () => {
  it('show what is true', () => {
    const row = { ...NOTHING_DECIDED, version: 3, concurrent_runs: 4, content: 'metadata' as const, evidence_days: 30 };
    expect(settingsView(row)).toEqual({
      version: 3,
      retention: { runs_days: null, evidence_days: 30, sessions_days: null, audit_days: null },
      content: 'metadata',
      limits: { concurrent_runs: 4, queued_runs: null, storage_mb: null, requests_per_minute: null },
      audit_reads: [],
    });
  });

  it.each([
    [{ limits: { storage_mb: 100, queued_runs: 5 } }, ['limits', 'storage_mb']],
    [{ limits: { requests_per_minute: 600 } }, ['limits', 'requests_per_minute']],
    [{ audit_reads: ['run.read'] }, ['audit_reads']],
  ])('promise nothing that is not kept: %j', (update, path) => {
    expect(unenforced(update)).toMatchObject([{ loc: ['body', ...path] }]);
  });

  it('may be told once more what they are', () => {
    const { retention, content, audit_reads, limits } = settingsView(NOTHING_DECIDED);
    expect(unenforced({ retention, content, audit_reads, limits })).toEqual([]);
    expect(unenforced({})).toEqual([]);
  });

  it('keep what an update does not name, and lose what it says is null', () => {
    const before = { ...UNDECIDED, concurrent_runs: 4, queued_runs: 9, runs_days: 30 };
    expect(settingsAfter(before, {})).toEqual(before);
    expect(settingsAfter(before, { limits: { queued_runs: null }, retention: { runs_days: null } })).toEqual({
      ...UNDECIDED,
      concurrent_runs: 4,
    });
    expect(settingsAfter(before, { content: 'metadata', retention: { audit_days: 7 } })).toEqual({
      ...before,
      content: 'metadata',
      audit_days: 7,
    });
  });

  it.each([
    [{ runs_days: 30, evidence_days: 30, sessions_days: 30, audit_days: 30 }, true],
    [{ runs_days: 30, evidence_days: 7, sessions_days: 1, audit_days: 400 }, true],
    [{ runs_days: 30, evidence_days: 7, sessions_days: 1, audit_days: null }, true],
    [{ runs_days: 30, evidence_days: 7, sessions_days: 31, audit_days: 30 }, false],
    [{ runs_days: 30, evidence_days: null, sessions_days: 7, audit_days: 400 }, false],
  ])('U-43: with %j keep the audit trail the longest: %s', (days, isSo) => {
    const problems = retentionProblems({ ...UNDECIDED, ...days });
    expect(problems.map(({ loc }) => loc)).toEqual(isSo ? [] : [['body', 'retention', 'audit_days']]);
  });
});
