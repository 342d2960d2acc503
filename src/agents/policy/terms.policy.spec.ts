import { describe, expect, it } from '@jest/globals';
import { putPolicy } from './policy.contract.ts';
import { policyView, termsOf, type PolicyRow } from './terms.policy.ts';

const DEFAULTS = {
  silentLimitSeconds: 900,
  runLimitSeconds: 86_400,
  queueTtlSeconds: 86_400,
  invokeUnreachableSeconds: 0.5,
  maxOffers: 5,
};
const NOBODY_SET = { version: 0, updated_at: null, updated_by: null };
const FIELDS = [
  'retry',
  'silent_limit_seconds',
  'run_limit_seconds',
  'queue_ttl_seconds',
  'invoke_unreachable_after_seconds',
  'max_offers',
  'max_concurrent_runs',
  'max_queued_runs',
];

const bodyOf = (body: object) => putPolicy.input.body.safeParse(body);
const rowOf = (body: object): PolicyRow => ({
  ...NOBODY_SET,
  ...termsOf({ agent_id: 'agent_1', ...putPolicy.input.body.parse(body) }),
});

describe('the policy of an agent', () => {
  it('that nobody has set is the installation’s, field by field', () => {
    expect(policyView('agent_1', rowOf({}), DEFAULTS)).toEqual({
      agent_id: 'agent_1',
      version: 0,
      updated_at: null,
      updated_by: null,
      retry: { on: [], max_attempts: 1, backoff_seconds: 5, factor: 2, max_backoff_seconds: 300 },
      silent_limit_seconds: 900,
      run_limit_seconds: 86_400,
      queue_ttl_seconds: 86_400,
      invoke_unreachable_after_seconds: 0.5,
      max_offers: 5,
      max_concurrent_runs: null,
      max_queued_runs: null,
      defaults: FIELDS,
    });
  });

  it('has what was decided, and names only the rest as defaults, also where both are the same', () => {
    const view = policyView('agent_1', rowOf({ max_offers: 5, silent_limit_seconds: 5, retry: { on: [] } }), DEFAULTS);
    expect(view).toMatchObject({ max_offers: 5, silent_limit_seconds: 5 });
    expect(view.defaults).toEqual(FIELDS.filter((name) => !/^(max_offers|silent_limit_seconds|retry)$/.test(name)));
  });

  it('reads null as a field that was left out', () => {
    expect(rowOf(Object.fromEntries(FIELDS.map((name) => [name, null])))).toEqual(rowOf({}));
  });

  it.each([
    { silent_limit_seconds: 4 },
    { silent_limit_seconds: 86_401 },
    { run_limit_seconds: 0 },
    { run_limit_seconds: 2_592_001 },
    { queue_ttl_seconds: 0 },
    { queue_ttl_seconds: 1.5 },
    { invoke_unreachable_after_seconds: 3_601 },
    { max_offers: 0 },
    { max_offers: 21 },
    { max_concurrent_runs: 0 },
    { max_queued_runs: 2_147_483_648 },
    { base_version: -1 },
    { queue_ttl: 60 },
    { retry: {} },
    { retry: { on: ['timeout'] } },
    { retry: { on: ['failed', 'worker_lost', 'failed'] } },
    { retry: { on: 'failed' } },
    { retry: { on: [], max_attempts: 11 } },
    { retry: { on: [], backoff_seconds: 3_601 } },
    { retry: { on: [], factor: 0.5 } },
    { retry: { on: [], attempts: 2 } },
  ])('may not say %j', (body) => {
    expect(bodyOf(body).error?.issues).toHaveLength(1); // one reason, said once
  });

  it.each([
    {
      silent_limit_seconds: 5,
      run_limit_seconds: 1,
      queue_ttl_seconds: 1,
      invoke_unreachable_after_seconds: 1,
      max_offers: 1,
    },
    { silent_limit_seconds: 86_400, run_limit_seconds: 2_592_000, queue_ttl_seconds: 2_592_000, max_offers: 20 },
    { retry: { on: ['worker_lost', 'delivery_lost', 'failed'], max_attempts: 10, backoff_seconds: 0, factor: 10 } },
  ])('may say %j', (body) => {
    expect(bodyOf(body).success).toBe(true);
  });
});
