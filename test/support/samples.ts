import { getPolicy, putPolicy } from '../../src/agents/policy/policy.contract.ts';
import { drainQueue, getQueue, pauseQueue, resumeQueue } from '../../src/agents/queue/queue.contract.ts';
import { getAgent, listAgents } from '../../src/agents/registry/registry.contract.ts';
import { getSkill, listSkills } from '../../src/agents/skills/skills.contract.ts';
import { getGeneration, listGenerations } from '../../src/agents/versions/versions.contract.ts';
import { listAudit } from '../../src/audit/queries/queries.contract.ts';
import { claimRun } from '../../src/dispatch/claims/claims.contract.ts';
import { explainRun } from '../../src/dispatch/explain/explain.contract.ts';
import { completeRun, failRun, startRun, triggerRun } from '../../src/dispatch/reports/reports.contract.ts';
import { getArtifact, listArtifacts } from '../../src/evidence/artifacts/artifacts.contract.ts';
import { addMessage, ingestEvents, listEvents, takeEvents } from '../../src/evidence/events/events.contract.ts';
import { listLate } from '../../src/evidence/late/late.contract.ts';
import { getSpan, listSpans } from '../../src/evidence/spans/spans.contract.ts';
import { streamRun } from '../../src/evidence/stream/stream.contract.ts';
import { invokeAgent } from '../../src/entry/invoke/invoke.contract.ts';
import {
  getAccountSettings,
  updateAccountSettings,
} from '../../src/identity/account-settings/account-settings.contract.ts';
import {
  createApiKey,
  listApiKeys,
  revealApiKey,
  revokeApiKey,
} from '../../src/identity/api-keys/api-keys.contract.ts';
import {
  listWorkerTokens,
  revokeWorkerToken,
  rotateWorkerToken,
  workerTokenStatus,
} from '../../src/identity/worker-tokens/worker-tokens.contract.ts';
import { docsPage, healthz, openApiDocument, readyz } from '../../src/platform/http/system.contract.ts';
import { listAttempts } from '../../src/runs/attempts/attempts.contract.ts';
import { cancelRun, createRun, getRun, listRuns } from '../../src/runs/lifecycle/lifecycle.contract.ts';
import * as actions from '../../src/workers/actions/actions.contract.ts';
import { openChannel, pong } from '../../src/workers/channel/channel.contract.ts';
import { forgetWorker, getWorker, listWorkers } from '../../src/workers/fleet/fleet.contract.ts';
import { beat } from '../../src/workers/registration/heartbeats.contract.ts';
import * as registration from '../../src/workers/registration/registration.contract.ts';
import * as supplies from '../../src/workers/supplies/supplies.contract.ts';
import { newToken } from '../contract/exchange.ts';
import { eventsOf, manifestOf, type Tenant } from '../contract/tenant.ts';
import { accessSamples } from './samples/access.ts';
import { agentSamples } from './samples/agents.ts';
import { approvalSamples } from './samples/approvals.ts';
import { frameless } from './samples/frameless.ts';
import { peopleSamples } from './samples/people.ts';
import { runSamples } from './samples/runs.ts';
import { readingSamples } from './samples/reading.ts';
import { nothing, sample, type Sampled } from './samples/sample.ts';
import { sessionSamples } from './samples/sessions.ts';
import { vaultSamples } from './samples/vault.ts';

/** For frames that say or ask something about the worker itself. */
const fromWorker =
  <Body>(body: Body) =>
  async (tenant: Tenant) => {
    const { workerId, token } = await tenant.agent();
    return { path: { worker_id: workerId }, body, token };
  };

/** What this build never has is answered in the worker SDK's own terms. */
const unconnected = async (tenant: Tenant) => ({ ...(await fromWorker({})(tenant)), answers: 404 });

/** One sample for each operation that is served. The sweep fails when one is missing, or too many. */
export const SAMPLES: ReadonlyMap<string, Sampled> = new Map([
  sample(healthz, nothing),
  sample(readyz, nothing),
  sample(openApiDocument, nothing),
  sample(docsPage, nothing),

  sample(listAudit, async () => ({ query: { limit: 5, status: 'success' } })),

  sample(getAccountSettings, nothing),
  sample(updateAccountSettings, async () => ({
    body: { limits: { queued_runs: 1_000_000 }, content: 'full' as const },
  })),
  sample(createApiKey, async () => ({
    body: { name: 'Sweep', role_ids: ['role_viewer'], scopes: ['runs:read'], expires_at: '2099-01-31T12:00:00Z' },
  })),
  sample(listApiKeys, nothing),
  sample(revealApiKey, async (tenant) => ({ path: { key_id: (await tenant.serviceKey([])).id } })),
  sample(revokeApiKey, async (tenant) => ({ path: { key_id: (await tenant.serviceKey([])).id } })),

  sample(rotateWorkerToken, async (tenant) => ({
    body: { agentId: (await tenant.agent()).handle, ttlSeconds: 3_600 },
  })),
  sample(listWorkerTokens, nothing),
  sample(workerTokenStatus, async (tenant) => ({ path: { agent_id: (await tenant.agent()).handle } })),
  sample(revokeWorkerToken, async (tenant) => ({ path: { agent_id: (await tenant.agent()).handle } })),

  sample(listAgents, async () => ({ query: { include_archived: true } })),
  sample(getAgent, async (tenant) => ({ path: { agent_id: (await tenant.agent()).id } })),

  ...agentSamples,
  sample(listGenerations, async (tenant) => ({ path: { agent_id: (await tenant.agent()).id }, query: { limit: 5 } })),
  sample(getGeneration, async (tenant) => ({
    path: { agent_id: (await tenant.agent()).id, generation: 1 },
    query: { compare: 1 },
  })),
  sample(listSkills, async (tenant) => ({ query: { agent_id: (await tenant.agent()).handle } })),
  sample(getSkill, async (tenant) => ({ path: { skill_id: await tenant.skill(await tenant.agent()) } })),

  sample(getPolicy, async (tenant) => ({ path: { agent_id: (await tenant.agent()).id } })),
  sample(putPolicy, async (tenant) => ({
    path: { agent_id: (await tenant.agent()).id },
    body: {
      retry: { on: ['worker_lost' as const], max_attempts: 3 },
      queue_ttl_seconds: 600,
      max_queued_runs: 50,
      base_version: 0,
    },
  })),
  sample(getQueue, async (tenant) => ({ path: { agent_id: (await tenant.agent()).id } })),
  sample(pauseQueue, async (tenant) => ({
    path: { agent_id: (await tenant.agent()).id },
    body: { reason: 'a look at it' },
  })),
  sample(drainQueue, async (tenant) => ({ path: { agent_id: (await tenant.agent()).id }, body: null })),
  sample(resumeQueue, async (tenant) => ({
    path: { agent_id: (await tenant.agent()).id },
    body: { reason: 'all is well' },
  })),

  sample(createRun, async (tenant) => ({
    body: {
      agent_id: (await tenant.agent()).id,
      input: { prompt: 'hello' },
      channel: 'api' as const,
      metadata: { ticket: 7 },
      labels: { team: 'blue' },
      require: { version: '1.0.0', labels: {} },
    },
  })),
  sample(listRuns, async (tenant) => ({ query: { agent_id: (await tenant.agent()).handle, limit: 10 } })),
  sample(getRun, async (tenant) => ({ path: { run_id: await tenant.run(await tenant.agent()) } })),
  sample(cancelRun, async (tenant) => ({
    path: { run_id: await tenant.run(await tenant.agent()) },
    body: { reason: 'no longer needed' },
  })),

  sample(explainRun, async (tenant) => ({ path: { run_id: await tenant.run(await tenant.agent()) } })),
  sample(listAttempts, async (tenant) => ({
    path: { run_id: (await tenant.recordedRun(await tenant.agent())).runId },
  })),
  sample(listWorkers, async (tenant) => ({ query: { agent_id: (await tenant.agent()).handle } })),
  sample(getWorker, async (tenant) => ({ path: { worker_id: (await tenant.agent()).workerId } })),

  sample(forgetWorker, async (tenant) => ({
    path: { worker_id: (await tenant.agent()).workerId },
    answers: 409, // it has just registered
  })),
  sample(actions.actOnWorker, async (tenant) => ({
    path: { worker_id: (await tenant.agent()).workerId },
    body: { action: 'pause' as const, reason: 'too hot', params: { why: 'sweep' } },
  })),
  sample(actions.listWorkerActions, async (tenant) => ({ path: { worker_id: (await tenant.agent()).workerId } })),

  sample(openChannel, async (tenant) => {
    const { workerId, token } = await tenant.agent();
    return { path: { worker_id: workerId }, token };
  }),
  sample(pong, fromWorker({ nonce: 'rep_none.1' })),
  sample(registration.registerWorker, async (tenant) => {
    const { handle, token, workerId } = await tenant.token();
    return { path: { worker_id: workerId }, body: manifestOf(handle), token, leavesRow: true };
  }),
  sample(beat, async (tenant) => {
    const { handle, token, workerId } = await tenant.token();
    const body = { worker_id: workerId, agent: { agent_id: handle, skills: null } };
    return { path: { worker_id: workerId }, body, token, leavesRow: true };
  }),
  sample(registration.heartbeat, fromWorker({})),
  sample(registration.keepAlive, fromWorker({})),
  sample(registration.ping, fromWorker({ nonce: 'n-1' })),
  sample(registration.reportHealth, fromWorker({ ok: true, detail: 'running' })),
  sample(actions.acknowledgeAction, fromWorker({ action_id: 'act_none', accepted: true })),
  sample(registration.reportRefusal, fromWorker({ code: 'unsupported_type', message: 'no such frame' })),
  sample(supplies.requestSecrets, fromWorker({})),
  sample(supplies.reportModels, fromWorker({ base_url: 'https://models.test', models: ['small'] })),
  sample(supplies.requestGithubToken, unconnected),
  sample(supplies.getGithubToken, async (tenant) => ({ token: (await tenant.agent()).token, answers: 404 })),
  sample(supplies.listSlackSubscriptions, async (tenant) => ({ token: (await tenant.agent()).token })),
  sample(supplies.requestAwsCredentials, unconnected),
  sample(supplies.requestGcpToken, unconnected),
  sample(supplies.searchKnowledge, fromWorker({})),
  sample(supplies.requestGrade, fromWorker({})),
  sample(supplies.requestPairGrade, fromWorker({})),

  sample(invokeAgent, async (tenant) => ({
    path: { agent_id: (await tenant.agent()).id },
    body: { input: { prompt: 'hello' }, event_id: `evt_${newToken()}`, labels: { team: 'blue' }, require: null },
  })),

  sample(claimRun, async (tenant) => {
    const agent = await tenant.agent();
    await tenant.run(agent);
    return { path: { worker_id: agent.workerId }, body: {}, token: agent.token };
  }),
  sample(startRun, async (tenant) => {
    const agent = await tenant.agent();
    return {
      path: { worker_id: agent.workerId },
      body: { run_id: await tenant.claimedRun(agent) },
      token: agent.token,
    };
  }),
  sample(triggerRun, async (tenant) => {
    const agent = await tenant.agent();
    const body = {
      run_id: `run_${newToken()}`,
      input: { prompt: 'by itself' },
      metadata: { room: 7 },
      event_id: 'evt_own',
    };
    return { path: { worker_id: agent.workerId }, body, token: agent.token };
  }),
  sample(completeRun, async (tenant) => {
    const agent = await tenant.agent();
    const body = {
      run_id: await tenant.startedRun(agent),
      output: { text: 'done' },
      usage: { input_tokens: 3, output_tokens: 4 },
    };
    return { path: { worker_id: agent.workerId }, body, token: agent.token };
  }),
  sample(failRun, async (tenant) => {
    const agent = await tenant.agent();
    const body = {
      run_id: await tenant.startedRun(agent),
      error: 'ValueError: no',
      diagnostics: { failure: { kind: 'ValueError' } },
    };
    return { path: { worker_id: agent.workerId }, body, token: agent.token };
  }),

  sample(takeEvents, async (tenant) => {
    const agent = await tenant.agent();
    const runId = await tenant.startedRun(agent);
    return {
      path: { worker_id: agent.workerId },
      body: eventsOf(runId, 'span_of_the_sweep'),
      envelope: { stream: runId, seq: 0 },
      token: agent.token,
    };
  }),
  sample(ingestEvents, async (tenant) => {
    const agent = await tenant.agent();
    const runId = await tenant.startedRun(agent);
    return {
      path: { run_id: runId },
      body: { worker_id: agent.workerId, ...eventsOf(runId, 'span_of_the_sweep') },
      token: agent.token,
    };
  }),
  sample(addMessage, async (tenant) => {
    const agent = await tenant.agent();
    const body = {
      worker_id: agent.workerId,
      content: 'half way',
      role: 'assistant' as const,
      payload: { step: 2 },
      event_id: 'evt_1',
      event_sequence: 1,
    };
    return { path: { run_id: await tenant.startedRun(agent) }, body, token: agent.token };
  }),
  sample(listEvents, async (tenant) => ({
    path: { run_id: (await tenant.recordedRun(await tenant.agent())).runId },
    query: { after: 0, limit: 50 },
  })),
  sample(listSpans, async (tenant) => ({
    path: { run_id: (await tenant.recordedRun(await tenant.agent())).runId },
    query: { limit: 50 },
  })),
  sample(listLate, async (tenant) => ({
    path: { run_id: (await tenant.recordedRun(await tenant.agent())).runId },
    query: { limit: 50 },
  })),
  sample(getSpan, async (tenant) => {
    const { runId, spanId } = await tenant.recordedRun(await tenant.agent());
    return { path: { run_id: runId, span_id: spanId } };
  }),
  sample(streamRun, async (tenant) => ({
    path: { run_id: (await tenant.recordedRun(await tenant.agent())).runId },
    query: { follow: false },
  })),
  sample(listArtifacts, async (tenant) => ({
    path: { run_id: (await tenant.recordedRun(await tenant.agent())).runId },
  })),
  sample(getArtifact, async (tenant) => {
    const { runId, artifactId } = await tenant.recordedRun(await tenant.agent());
    return { path: { run_id: runId, artifact_id: artifactId } };
  }),
  ...frameless,
  ...approvalSamples,
  ...runSamples,
  ...accessSamples,
  ...sessionSamples,
  ...peopleSamples,
  ...vaultSamples,
  ...readingSamples,
]);
