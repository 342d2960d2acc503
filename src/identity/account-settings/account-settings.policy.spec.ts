import { describe, expect, it } from '@jest/globals';
import { limitsAfter, settingsView, unenforced } from './account-settings.policy.ts';

describe('the settings of an account', () => {
  it('show what is true: everything is kept, whole, and only the limits on runs can differ', () => {
    expect(settingsView({ version: 3, concurrent_runs: 4, queued_runs: null })).toEqual({
      version: 3,
      retention: { runs_days: null, evidence_days: null, sessions_days: null, audit_days: null },
      content: 'full',
      limits: { concurrent_runs: 4, queued_runs: null, storage_mb: null, requests_per_minute: null },
      audit_reads: [],
    });
  });

  it.each([
    [{ retention: { runs_days: 30 } }, ['retention', 'runs_days']],
    [{ retention: { audit_days: 400, evidence_days: null } }, ['retention', 'audit_days']],
    [{ content: 'metadata' as const }, ['content']],
    [{ limits: { storage_mb: 100, queued_runs: 5 } }, ['limits', 'storage_mb']],
    [{ limits: { requests_per_minute: 600 } }, ['limits', 'requests_per_minute']],
    [{ audit_reads: ['run.read'] }, ['audit_reads']],
  ])('promise nothing that is not kept: %j', (update, path) => {
    expect(unenforced(update)).toMatchObject([{ loc: ['body', ...path] }]);
  });

  it('may be told once more what they are', () => {
    const { retention, content, audit_reads, limits } = settingsView({
      version: 1,
      concurrent_runs: 1,
      queued_runs: 2,
    });
    expect(unenforced({ retention, content, audit_reads, limits })).toEqual([]);
    expect(unenforced({})).toEqual([]);
  });

  it('keep what an update does not name, and lose what it says is null', () => {
    const before = { concurrent_runs: 4, queued_runs: 9 };
    expect(limitsAfter(before, {})).toEqual(before);
    expect(limitsAfter(before, { limits: { queued_runs: null } })).toEqual({ concurrent_runs: 4, queued_runs: null });
    expect(limitsAfter(before, { limits: { concurrent_runs: 1 } })).toEqual({ concurrent_runs: 1, queued_runs: 9 });
  });
});
