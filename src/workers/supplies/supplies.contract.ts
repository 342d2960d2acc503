import { z } from 'zod';
import { fault } from '../../platform/faults/faults.ts';
import { freeObject } from '../../platform/json/json.ts';
import { operation, unaudited, workerToken } from '../../platform/operation/operation.ts';
import { empty } from '../../platform/operation/output.ts';
import { HAND_OUT_ACTION } from '../../vault/index.ts';
import { WorkerPath } from '../fleet/fleet.contract.ts';

/** What a worker asks for beside its work. Of most of it this build has nothing, and says so in the SDK's own terms. */

export const NotConnected = fault(
  'worker.not_connected',
  'not_found',
  'Nothing of the kind is connected for this agent',
);

const Nothing = { path: WorkerPath, body: z.object({}) };
const asked = unaudited('nothing is handed out');
/** An answer that says no: for the SDK it is about this request, and no reason to end. */
const Refusal = z.object({ code: z.string(), message: z.string(), retryable: z.boolean() });

export const requestSecrets = operation({
  id: 'workers.secrets',
  summary: 'Hands out the secrets that the agent gets on demand.',
  frame: { type: 'secrets_request', reply: 'secrets_bundle' },
  capability: workerToken,
  audit: unaudited('a row is left where something is handed out'),
  input: Nothing,
  output: z.object({ secrets: freeObject() }),
  faults: [],
});

/** For workers that know no frames, and therefore no values with parts. */
export const getBootSecrets = operation({
  id: 'workers.boot_secrets',
  summary: 'Hands out the secrets that the agent gets on demand, each part of a value as a text of its own.',
  http: { method: 'GET', path: '/api/v1/workers/secrets', status: 200 },
  capability: workerToken,
  audit: { action: HAND_OUT_ACTION, target: () => ['agent', ''] },
  input: {},
  output: z
    .object({
      secrets: freeObject()
        .meta({ type: 'object', additionalProperties: { type: 'string' } })
        .optional(),
    })
    .meta({ id: 'WorkerSecretsResponse' }),
  faults: [],
});

export const reportModels = operation({
  id: 'workers.models',
  summary: 'Tells which models a worker can reach.',
  frame: { type: 'report_models' },
  capability: workerToken,
  audit: unaudited('kept on the worker'),
  input: {
    path: WorkerPath,
    body: z.object({ base_url: z.string().max(2_000), models: z.array(z.unknown()).max(10_000) }),
  },
  output: empty,
  faults: [],
});

const refusedToken = (id: `workers.${string}`, type: string, reply: string, summary: string) =>
  operation({
    id,
    summary,
    frame: { type, reply },
    transaction: 'none',
    capability: workerToken,
    audit: asked,
    input: Nothing,
    output: Refusal,
    faults: [NotConnected],
  });

export const requestGithubToken = refusedToken(
  'workers.github_token',
  'github_token_request',
  'github_token',
  'Asks for a GitHub token.',
);
/** The same for workers that know no frames. */
export const getGithubToken = operation({
  id: 'workers.read_github_token',
  summary: 'Hands out a GitHub token.',
  http: { method: 'GET', path: '/api/v1/workers/integrations/github/token', status: 200 },
  capability: workerToken,
  input: {},
  output: freeObject().meta({ type: 'object', additionalProperties: { type: 'string' } }),
  faults: [NotConnected],
});

/** SDK 0.1.1 asks for it when it routes messages of Slack, and reads this object. */
export const listSlackSubscriptions = operation({
  id: 'workers.slack_subscriptions',
  summary: 'Lists the Slack channels that agents listen to.',
  http: { method: 'GET', path: '/api/v1/workers/slack-subscriptions', status: 200 },
  capability: workerToken,
  ours: true,
  input: {},
  output: z.object({
    subscriptions: z.array(z.object({ agent_id: z.string(), name: z.string(), channels: z.array(z.string()) })),
  }),
  faults: [],
});

export const requestAwsCredentials = refusedToken(
  'workers.aws_credentials',
  'aws_credentials_request',
  'aws_credentials',
  'Asks for AWS credentials.',
);
export const requestGcpToken = refusedToken(
  'workers.gcp_token',
  'gcp_token_request',
  'gcp_token',
  'Asks for a Google Cloud token.',
);

const refusedFrame = (id: `workers.${string}`, type: string, summary: string) =>
  operation({
    id,
    summary,
    frame: { type, reply: 'error' },
    transaction: 'none',
    capability: workerToken,
    audit: asked,
    input: Nothing,
    output: Refusal,
    faults: [],
  });

export const searchKnowledge = refusedFrame(
  'workers.knowledge',
  'knowledge_search_request',
  'Searches a knowledge base.',
);
export const requestGrade = refusedFrame('workers.grade_context', 'grade_context_request', 'Asks for a run to grade.');
export const requestPairGrade = refusedFrame(
  'workers.pair_grade_context',
  'pair_grade_context_request',
  'Asks for two runs to compare.',
);
