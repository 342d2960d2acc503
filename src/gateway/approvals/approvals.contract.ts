import { z } from 'zod';
import { AgentName } from '../../identity/index.ts';
import { IdempotencyConflict } from '../../platform/faults/faults.ts';
import { anyJson } from '../../platform/json/json.ts';
import { operation } from '../../platform/operation/operation.ts';
import { ApprovalChanged, ApprovalDecided, ApprovalExpired, ApprovalNotFound } from './approvals.faults.ts';

const KINDS = ['action', 'workflow_step', 'gateway_call'] as const;
const STATES = ['pending', 'approved', 'denied', 'expired', 'withdrawn'] as const;
const Text = z.string().nullable();

const ApprovalView = z
  .object({
    approval_id: z.string(),
    kind: z.enum(KINDS),
    state: z.enum(STATES),
    run_id: Text,
    agent_id: Text,
    worker_id: Text,
    attempt: z.int().nullable(),
    workflow_id: Text,
    instance_id: Text,
    step_id: Text,
    tool_use_id: Text,
    tool_name: Text,
    rule: z.object({ id: z.string(), name: Text }).nullable(),
    arguments: anyJson(),
    /** In a list only: the arguments are too long for one, and left out. */
    arguments_truncated: z.boolean().optional(),
    arguments_hash: z.string(),
    asked_by: Text,
    asked_at: z.string(),
    expires_at: z.string(),
    decided_at: Text,
    decided_by: z.object({ principal_id: z.string(), label: z.string() }).nullable(),
    decided_via: z.enum(['inbox', 'run', 'chat', 'slack', 'mcp']).nullable(),
    comment: Text,
    delivered_at: Text,
  })
  .meta({ id: 'ApprovalView' });

const path = z.object({ approval_id: z.string().min(1).max(200) });

export const listApprovals = operation({
  id: 'gateway.approvals',
  summary: 'Lists what agents ask somebody to allow, the newest first.',
  http: { method: 'GET', path: '/api/v1/approvals', status: 200 },
  capability: 'approval.read',
  ours: true,
  input: {
    query: z.object({
      run_id: z.string().max(200).optional(),
      agent_id: AgentName.optional(),
      kind: z.enum(KINDS).optional(),
      state: z.enum(STATES).optional(),
      limit: z.coerce.number().int().min(1).max(500).default(100),
      cursor: z.string().max(1_000).optional(),
    }),
  },
  output: z.array(ApprovalView),
  faults: [],
});

export const getApproval = operation({
  id: 'gateway.approval',
  summary: 'Shows what an agent asks somebody to allow.',
  http: { method: 'GET', path: '/api/v1/approvals/{approval_id}', status: 200 },
  capability: 'approval.read',
  ours: true,
  scope: ({ approval_id }) => ({ approval: approval_id }),
  input: { path },
  output: ApprovalView,
  faults: [ApprovalNotFound],
});

export const decideApproval = operation({
  id: 'gateway.decide_approval',
  summary: 'Allows or refuses what an agent asks for, once and for all.',
  http: { method: 'POST', path: '/api/v1/approvals/{approval_id}/decide', status: 200 },
  capability: 'approval.decide',
  operatorsOnly: true,
  ours: true,
  scope: ({ approval_id }) => ({ approval: approval_id }),
  audit: { action: 'approval.decide', target: ({ approval_id }) => ['approval', approval_id] },
  idempotent: true,
  input: {
    path,
    body: z
      .object({
        state: z.enum(['approved', 'denied']),
        comment: z.string().max(2_000).nullish(),
        arguments_hash: z.string().max(200).nullish(),
      })
      .meta({ id: 'ApprovalDecision' }),
  },
  output: ApprovalView,
  faults: [ApprovalNotFound, ApprovalDecided, ApprovalExpired, ApprovalChanged, IdempotencyConflict],
});
