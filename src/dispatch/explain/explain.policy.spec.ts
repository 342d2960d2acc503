import { describe, expect, it } from '@jest/globals';
import type { Move } from '../../runs/index.ts';
import type { CrewRow } from './candidates.policy.ts';
import { explanationOf, type Standing } from './explain.policy.ts';
import { REASONS, REASON_CODES, type ReasonCode } from './reasons.policy.ts';

const NOW = Date.parse('2026-03-01T12:00:00.000Z');
const ago = (seconds: number): Date => new Date(NOW - seconds * 1_000);
const wire = (seconds: number): string => ago(seconds).toISOString();

const TERMS = {
  ...{
    presenceWindowSeconds: 90,
    claimWindowSeconds: 25,
    channelPingSeconds: 5,
    failedOfferSeconds: 2,
    outboundAllow: [],
  },
  ...{ closedOfferSeconds: 6, closedLostSeconds: 15, unackedSeconds: 20, silentLimitSeconds: 900 },
  ...{ offerSeconds: 90, runLimitSeconds: 86_400, queueTtlSeconds: 3_600, invokeUnreachableSeconds: 30 },
};

/** A run that has waited for ten seconds under no terms of its own. */
const QUEUED: Standing = {
  ...{ now: ago(0), hearing_since: ago(9_000), id: 'run', agent_id: 'agent', status: 'queued', transport: 'polling' },
  ...{ attempt: 0, offers: 0, worker_id: null, waiting_since: ago(10), not_before: null, claimed_at: null },
  ...{ started_at: null, finished_at: null, first_claimed_at: null, require_version: null, require_labels: {} },
  ...{ needs_replay: false, failed_offers: [], end_code: null, end_detail: {}, error: null, error_source: null },
  ...{ cancel_requested_at: null, cancel_acknowledged_at: null, cancel_reason: null, queue_state: 'open' },
  ...{ queue_since: null, queue_changed_by: null, queue_reason: null, max_concurrent_runs: null },
  ...{
    queue_ttl_seconds: null,
    run_limit_seconds: null,
    silent_limit_seconds: null,
    window_seconds: null,
    concurrent_runs: null,
  },
  ...{ invoke_unreachable_after_seconds: null, agent_active: 0, agent_active_since: null, account_active: 0 },
  ...{ account_active_since: null, ahead: 0, holder_seen_at: null, channel_opened_at: null },
  ...{ channel_closed_at: null, channel_closed_by: null, unacked_since: null, approvals: [] },
};
const OUT: Partial<Standing> = {
  ...{ status: 'running', attempt: 1, offers: 1, worker_id: 'w', claimed_at: ago(8), first_claimed_at: ago(8) },
  ...{ started_at: ago(7), holder_seen_at: ago(1), channel_opened_at: ago(100) },
};
const ENDED: Partial<Standing> = { ...OUT, finished_at: ago(3), error_source: 'platform' };

/** A worker that nothing speaks against. */
const WELL: CrewRow = {
  ...{ now: ago(0), hearing_since: ago(9_000), silent_limit_seconds: null, window_seconds: null },
  ...{ id: 'w', mode: 'normal', mode_since: null, mode_by: null, mode_reason: null, version: '1', labels: {} },
  ...{
    sdk_version: '0.4.13',
    dialect: '0.3',
    max_concurrent: 1,
    registered_at: ago(600),
    last_seen_at: ago(1),
    last_claim_at: ago(5),
  },
  ...{ last_pong_at: ago(1), last_events_at: null, channel_opened_at: ago(600), channel_closed_at: null },
  ...{ channel_closed_by: null, unacked_since: null, token_is_valid: true, token_ended_at: null, runs: [] },
  ...{ is_version: true, is_labelled: true, is_compatible: true, total: 1, has_other: true, has_channel: true },
  ...{ endpoint_url: null, direct_outcome: null, direct_said: null, direct_called_at: null, direct_retry_at: null },
};

/** It asks for nothing, and gives an address. */
const DIALLED: Partial<CrewRow> = {
  ...{
    last_claim_at: null,
    channel_opened_at: null,
    last_pong_at: null,
    has_channel: false,
    endpoint_url: 'https://worker.example',
  },
};
const REFUSING: Partial<CrewRow> = {
  ...DIALLED,
  ...{
    direct_outcome: 'unsent',
    direct_said: 'the connection was refused',
    direct_called_at: ago(4),
    direct_retry_at: ago(-6),
  },
};

const explain = (run: Partial<Standing>, crew: readonly Partial<CrewRow>[] = [{}], moves: readonly Move[] = []) =>
  explanationOf(
    { standing: { ...QUEUED, ...run }, moves, crew: crew.map((one) => ({ ...WELL, total: crew.length, ...one })) },
    TERMS,
  );

/** What the code promises to be changed by (ours.md), and nothing else. */
const kinds = (code: ReasonCode): string[] => Object.keys(REASONS[code]);

describe('why a run stands as it does', () => {
  const expected = (code: ReasonCode, since: number, at: number | null, detail: object = {}): object => ({
    code,
    since: wire(since),
    until_changed_by: kinds(code).map((kind) => ({
      kind,
      what: expect.anything(),
      at: kind === 'time' && at !== null ? wire(at) : null,
    })),
    detail: expect.objectContaining(detail),
    message: expect.stringMatching(/^[^\n]+\.?$/),
  });
  const busy = { runs: [heldRun('other', 40)] };
  const NOBODY = expect.objectContaining({ code: 'agent.no_eligible_worker' });

  it.each<[ReasonCode, Partial<Standing>, Partial<CrewRow>[], object]>([
    ['handing_out', {}, [{}], expected('handing_out', 10, null, { workers: 1, ahead: 0 })],
    ['handing_out', {}, [DIALLED], expected('handing_out', 10, null, { workers: 1 })],
    ['direct.retrying', {}, [REFUSING], expected('direct.retrying', 4, -6, { worker_id: 'w', at: wire(-6) })],
    ['agent.no_eligible_worker', {}, [{ ...REFUSING, has_channel: true, direct_outcome: 'lost' }], NOBODY],
    ['agent.no_eligible_worker', {}, [{ ...DIALLED, endpoint_url: 'https://10.0.0.1' }], NOBODY],
    ['handing_out', { ahead: 7 }, [busy, {}], expected('handing_out', 10, null, { workers: 1, ahead: 7 })],
    ['agent.no_worker', {}, [], expected('agent.no_worker', 10, 10 - 3_600)],
    [
      'agent.no_worker',
      { queue_ttl_seconds: 60, transport: 'api_sync' },
      [],
      expected('agent.no_worker', 10, -50, { unreachable_after_seconds: 30 }),
    ],
    ['retry.backoff', { attempt: 1, not_before: ago(-4) }, [{}], expected('retry.backoff', 10, -4, { attempt: 1 })],
    [
      'queue.agent_paused',
      { queue_state: 'paused', queue_since: ago(60), queue_changed_by: 'ada', queue_reason: 'release' },
      [{}],
      expected('queue.agent_paused', 60, null, { by: 'ada', reason: 'release' }),
    ],
    [
      'limit.agent_concurrency',
      { max_concurrent_runs: 2, agent_active: 2, agent_active_since: ago(4) },
      [{}],
      expected('limit.agent_concurrency', 4, null, { limit: 2, active: 2 }),
    ],
    [
      'limit.account_concurrency',
      { concurrent_runs: 1, account_active: 3, account_active_since: ago(40) },
      [{}],
      expected('limit.account_concurrency', 10, null, { limit: 1, active: 3 }),
    ],
    [
      'offered',
      { ...OUT, status: 'claimed', started_at: null },
      [],
      expected('offered', 8, 8 - 90, { worker_id: 'w' }),
    ],
    ['executing', OUT, [], expected('executing', 7, 8 - 86_400, { worker_id: 'w', attempt: 1 })],
    ['executing', { ...OUT, run_limit_seconds: 20 }, [], expected('executing', 7, -12)],
    [
      'waiting.approval',
      { ...OUT, approvals: [{ id: 'apr_1', tool_name: 'Bash', asked_at: wire(5), expires_at: wire(-55) }] },
      [],
      expected('waiting.approval', 5, -55, { approval_id: 'apr_1', tool_name: 'Bash', worker_id: 'w' }),
    ],
    ['silent', { ...OUT, holder_seen_at: ago(91) }, [], expected('silent', 91, 91 - 900, { rule: 'silent' })],
    ['silent', { ...OUT, holder_seen_at: ago(91), silent_limit_seconds: 95 }, [], expected('silent', 91, -4)],
    [
      'cancelling',
      {
        ...ENDED,
        status: 'cancelled',
        end_code: 'end.cancelled',
        cancel_requested_at: ago(3),
        cancel_reason: 'enough',
      },
      [],
      expected('cancelling', 3, null, { reason: 'enough' }),
    ],
  ])('F-33: %s (%#)', (_code, run, crew, found) => {
    expect(explain(run, crew).reason).toEqual(found);
  });

  it.each<[ReasonCode, Partial<Standing>, object]>([
    ['end.succeeded', { status: 'succeeded', error_source: null }, {}],
    [
      'end.failed',
      { status: 'failed', error: 'ValueError: no', error_source: 'worker' },
      { error: 'ValueError: no', error_source: 'worker' },
    ],
    [
      'end.cancelled',
      { status: 'cancelled', cancel_requested_at: ago(3), cancel_acknowledged_at: ago(2), cancel_reason: 'enough' },
      { reason: 'enough', confirmed: true },
    ],
    ['end.cancelled', { status: 'cancelled', cancel_requested_at: ago(3), holder_seen_at: null }, { confirmed: false }],
    [
      'end.worker_lost',
      { status: 'failed', error: 'worker_lost: it was silent', end_detail: { rule: 'silent' } },
      { rule: 'silent', error: 'worker_lost: it was silent', error_source: 'platform' },
    ],
    ['end.undeliverable', { status: 'failed', error: 'undeliverable: …', offers: 5 }, { offers: 5 }],
    ['end.unreachable', { status: 'failed', error: 'unreachable: …', worker_id: null }, { error: 'unreachable: …' }],
    ['end.queue_ttl', { status: 'failed', error: 'queue_ttl: …' }, { error_source: 'platform' }],
    ['end.run_limit', { status: 'failed', error: 'run_limit: …' }, { error_source: 'platform' }],
    [
      'end.credential_disabled',
      { status: 'failed', error: 'credential_disabled: key is disabled' },
      { error_source: 'platform' },
    ],
    ['end.job_refused', { status: 'failed', error: 'job_refused: …' }, { error_source: 'platform' }],
  ])('F-33, N-16: %s (%#)', (code, run, detail) => {
    const { reason, also, candidates } = explain({ ...ENDED, end_code: code, ...run }, []);
    expect(reason).toEqual({
      ...expected(code, 3, null, detail),
      until_changed_by: [{ kind: 'nothing', what: null, at: null }],
    });
    expect({ also, candidates }).toEqual({ also: [], candidates: [] });
  });

  it.each<[ReasonCode, Partial<CrewRow>, Partial<Standing>, object]>([
    ['worker.offline', { last_seen_at: ago(100) }, {}, expected('worker.offline', 10, null)],
    [
      'worker.offline',
      { channel_closed_at: ago(18), channel_closed_by: 'worker', last_seen_at: ago(18) },
      {},
      expected('worker.offline', 3, null), // lost 15 s after its side hung up
    ],
    [
      'worker.token_revoked',
      { token_is_valid: false, token_ended_at: ago(33) },
      {},
      expected('worker.token_revoked', 33, null),
    ],
    ['worker.draining', { mode: 'draining', mode_since: ago(9) }, {}, expected('worker.draining', 9, null)],
    [
      'worker.paused',
      { mode: 'paused', mode_since: ago(9), mode_by: 'ada', mode_reason: 'look' },
      {},
      expected('worker.paused', 9, null, { by: 'ada', reason: 'look' }),
    ],
    ['worker.lame_duck', { mode: 'lame_duck', mode_since: ago(9) }, {}, expected('worker.lame_duck', 9, null)],
    ['worker.not_claiming', { last_claim_at: ago(27) }, {}, expected('worker.not_claiming', 2, null)],
    ['worker.not_claiming', { last_claim_at: null }, {}, expected('worker.not_claiming', 600, null)],
    ['worker.busy', busy, {}, expected('worker.busy', 40, null, { run_ids: ['other'] })],
    [
      'worker.version_mismatch',
      { is_version: false },
      { require_version: '2' },
      expected('worker.version_mismatch', 10, null, { required: '2', offered: '1' }),
    ],
    [
      'worker.label_mismatch',
      { is_labelled: false, labels: { zone: 'a', gpu: 'yes' }, registered_at: ago(5) },
      { require_labels: { zone: 'b', gpu: 'yes' } },
      expected('worker.label_mismatch', 5, null, { missing: ['zone'] }),
    ],
    [
      'worker.incompatible',
      { is_compatible: false },
      { needs_replay: true },
      expected('worker.incompatible', 10, null, { because: expect.any(String), sdk_version: '0.4.13' }),
    ],
    [
      'worker.failed_offer',
      {},
      { failed_offers: ['w'], waiting_since: ago(1) },
      expected('worker.failed_offer', 1, -1),
    ],
  ])('F-33: %s keeps a worker from it (%#)', (code, worker, run, found) => {
    const { reason, candidates } = explain(run, [worker]);
    expect(candidates).toMatchObject([{ worker_id: 'w', eligible: false, reason: found }]);
    expect(reason.code).toBe('agent.no_eligible_worker');
    expect(reason.until_changed_by.map(({ kind }) => kind)).toEqual([...kinds(code), 'time']);
  });

  it('F-33: worker.channel_stale: its worker is eligible all the same', () => {
    const { reason, candidates } = explain({}, [{ last_pong_at: ago(60), last_seen_at: ago(1) }]);
    expect(candidates).toMatchObject([{ eligible: true, reason: expected('worker.channel_stale', 55, null) }]);
    expect(reason.code).toBe('handing_out');
  });

  it('F-33: agent.no_eligible_worker holds since the last of its workers was excluded, and ends as theirs or with the queue', () => {
    const { reason, candidates_total } = explain({ waiting_since: ago(50) }, [
      { id: 'a', ...busy },
      { id: 'b', last_claim_at: ago(30) },
      { id: 'c', last_claim_at: ago(60) },
    ]);
    expect(candidates_total).toBe(3);
    expect(reason).toMatchObject({ code: 'agent.no_eligible_worker', since: wire(5) });
    expect(reason.until_changed_by).toEqual([
      { kind: 'worker_frees', what: expect.any(String), at: null },
      { kind: 'worker_reports', what: expect.any(String), at: null },
      { kind: 'time', what: expect.any(String), at: wire(50 - 3_600) },
    ]);
    expect(reason.message).toContain('1 worker.busy, 2 worker.not_claiming');
  });

  it('Q-15: a lame duck is eligible while no other worker that fits is there', () => {
    expect(explain({}, [{ mode: 'lame_duck', has_other: false }]).candidates).toMatchObject([{ eligible: true }]);
  });

  it('names the rule that lasts longest, and all that holds for the run, the first to be removed first', () => {
    const run = { queue_state: 'paused', not_before: ago(-4), concurrent_runs: 1, account_active: 1 } as const;
    const { reason, also } = explain({ ...run, max_concurrent_runs: 1, agent_active: 1 }, [
      { ...busy, is_version: false, last_claim_at: null },
    ]);
    expect([reason, ...also].map(({ code }) => code)).toEqual([
      'queue.agent_paused',
      'retry.backoff',
      'limit.account_concurrency',
      'limit.agent_concurrency',
      'agent.no_eligible_worker',
    ]);
    const [candidate] = explain({}, [{ ...busy, is_version: false, last_claim_at: null }]).candidates;
    expect(candidate?.reason?.code).toBe('worker.version_mismatch');
  });

  it('its history names each offer, each start and why each attempt was over', () => {
    const move = (seconds: number, status: Move['status'], more: Partial<Move> = {}): Move => ({
      ...{ at: ago(seconds), attempt: 1, status, worker_id: null, code: null, detail: {}, ...more },
    });
    const { history } = explain(
      { ...ENDED, status: 'succeeded', end_code: 'end.succeeded' },
      [],
      [
        move(50, 'queued', { attempt: 0 }),
        move(40, 'claimed', { worker_id: 'a' }),
        move(30, 'queued', { code: 'worker.failed_offer', detail: { worker_id: 'a' } }),
        move(20, 'claimed', { worker_id: 'b', attempt: 2 }),
        move(10, 'running', { worker_id: 'b', attempt: 2 }),
        move(5, 'succeeded', { worker_id: 'b', attempt: 2, code: 'end.succeeded' }),
      ],
    );
    expect(history).toEqual([
      { at: wire(40), code: 'offered', worker_id: 'a', attempt: 1 },
      { at: wire(30), code: 'worker.failed_offer', worker_id: 'a', attempt: 1 },
      { at: wire(20), code: 'offered', worker_id: 'b', attempt: 2 },
      { at: wire(10), code: 'executing', worker_id: 'b', attempt: 2 },
      { at: wire(5), code: 'end.succeeded', worker_id: 'b', attempt: 2 },
    ]);
  });

  it('the list of codes is closed', () => {
    expect(REASON_CODES).toHaveLength(39);
    expect(new Set(REASON_CODES.map((code) => code.replace(/\..*/, '')))).toEqual(
      new Set([
        'offered',
        'executing',
        'silent',
        'waiting',
        'cancelling',
        'agent',
        'handing_out',
        'retry',
        'queue',
        'limit',
        'account',
        'direct',
        'worker',
        'end',
      ]),
    );
  });
});

function heldRun(run_id: string, seconds: number): CrewRow['runs'][number] {
  return { run_id, since: wire(seconds), started_at: wire(seconds - 1), slot: 0 };
}
