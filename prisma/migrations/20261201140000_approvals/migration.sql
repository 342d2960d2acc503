-- Approvals that agents wait for, what workers are configured with, and which recorded calls a replay was answered with.
SET LOCAL lock_timeout = '10s';

CREATE TABLE agent_worker_config (
  account_id text NOT NULL,
  agent_id text NOT NULL,
  revision integer NOT NULL,
  version text NOT NULL,
  skills_version text NOT NULL,
  action_rules_version text NOT NULL,
  ops json NOT NULL,
  action_rules json,
  note text,
  created_at timestamptz(6) NOT NULL DEFAULT now(),
  created_by text NOT NULL,
  CONSTRAINT agent_worker_config_pkey PRIMARY KEY (account_id, agent_id, revision)
);

CREATE TABLE approval (
  account_id text NOT NULL,
  id text NOT NULL,
  kind text NOT NULL CONSTRAINT approval_kind_is_known CHECK (kind IN ('action', 'workflow_step', 'gateway_call')),
  state text NOT NULL DEFAULT 'pending' CONSTRAINT approval_state_is_known CHECK (state IN ('pending', 'approved', 'denied', 'expired', 'withdrawn')),
  agent_id text NOT NULL,
  run_id text NOT NULL,
  attempt integer NOT NULL,
  worker_id text NOT NULL,
  tool_use_id text NOT NULL,
  tool_name text NOT NULL,
  rule_id text NOT NULL,
  rule_name text,
  arguments json,
  arguments_bytes integer NOT NULL DEFAULT 0,
  arguments_hash text NOT NULL,
  asked_by text,
  asked_at timestamptz(6) NOT NULL DEFAULT now(),
  expires_at timestamptz(6) NOT NULL,
  decided_at timestamptz(6),
  decided_by text,
  decided_label text,
  decided_via text,
  comment text,
  delivered_at timestamptz(6),
  settled_at timestamptz(6),
  CONSTRAINT approval_pkey PRIMARY KEY (account_id, id)
);
CREATE UNIQUE INDEX approval_account_id_run_id_attempt_tool_use_id_arguments_ha_key ON approval (account_id, run_id, attempt, tool_use_id, arguments_hash);
CREATE INDEX approval_account_id_asked_at_id_idx ON approval (account_id, asked_at DESC, id DESC);
-- The inbox; what waits, by its run; and what has waited for too long, over all accounts.
CREATE INDEX approval_inbox ON approval (account_id, asked_at DESC, id DESC) WHERE state = 'pending';
CREATE INDEX approval_waits ON approval (account_id, run_id) WHERE state = 'pending';
CREATE INDEX approval_expires ON approval (expires_at) WHERE state = 'pending';
-- What workers are still to be told.
CREATE INDEX approval_unsettled ON approval (account_id, worker_id) WHERE settled_at IS NULL AND state <> 'pending';

CREATE TABLE replay_answer (
  account_id text NOT NULL,
  run_id text NOT NULL,
  attempt integer NOT NULL,
  seq bigint NOT NULL,
  frame_id text NOT NULL,
  created_at timestamptz(6) NOT NULL DEFAULT now(),
  CONSTRAINT replay_answer_pkey PRIMARY KEY (account_id, run_id, attempt, seq)
);
CREATE UNIQUE INDEX replay_answer_account_id_run_id_attempt_frame_id_key ON replay_answer (account_id, run_id, attempt, frame_id);

DO $$
DECLARE
  name text;
BEGIN
  FOREACH name IN ARRAY ARRAY['agent_worker_config', 'approval', 'replay_answer'] LOOP
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO signalbox_app, signalbox_system', name);
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', name);
    EXECUTE format('CREATE POLICY own_account ON %I TO signalbox_app USING (account_id = current_account())', name);
    EXECUTE format('CREATE POLICY every_account ON %I TO signalbox_system USING (true)', name);
  END LOOP;
END $$;

-- What waits for somebody's word, by run and attempt. Its columns are named apart from those of a run, beside which they are read.
CREATE VIEW approval_awaited WITH (security_invoker = true) AS
  SELECT account_id AS awaited_account, run_id AS awaited_run, attempt AS awaited_attempt, id AS approval_id, tool_name, asked_at, expires_at
    FROM approval WHERE state = 'pending' AND expires_at > now();
GRANT SELECT ON approval_awaited TO signalbox_app, signalbox_system;
-- What a worker is still to be told about what it asked for.
CREATE VIEW approval_untold WITH (security_invoker = true) AS
  SELECT account_id, id, agent_id, worker_id, state, comment, decided_label, decided_via, decided_at
    FROM approval WHERE state IN ('approved', 'denied', 'expired') AND settled_at IS NULL;
GRANT SELECT ON approval_untold TO signalbox_app, signalbox_system;
-- The versions that stood behind each other for an agent's workers; the highest revision is in force.
CREATE VIEW agent_config_versions WITH (security_invoker = true) AS
  SELECT account_id, agent_id, revision, version, skills_version, action_rules_version FROM agent_worker_config;
GRANT SELECT ON agent_config_versions TO signalbox_app, signalbox_system;
-- What workers said of their configuration, and what they were handed.
CREATE VIEW worker_config_state WITH (security_invoker = true) AS
  SELECT account_id, id, agent_id, config FROM worker WHERE registered_at IS NOT NULL;
GRANT SELECT ON worker_config_state TO signalbox_app, signalbox_system;
-- What people call whoever acts.
CREATE VIEW principal_label WITH (security_invoker = true) AS
  SELECT account_id, id, coalesce(email, name) AS label FROM principal;
GRANT SELECT ON principal_label TO signalbox_app, signalbox_system;
