-- What a run survives: policies of agents, queues that can be paused, limits of accounts, actions on workers.
SET LOCAL lock_timeout = '10s';

ALTER TABLE replica ADD COLUMN is_mourned boolean NOT NULL DEFAULT false;
CREATE TABLE hearing (
  id integer NOT NULL DEFAULT 1 CONSTRAINT hearing_pkey PRIMARY KEY CONSTRAINT hearing_is_one CHECK (id = 1),
  since timestamptz(6) NOT NULL,
  seen_at timestamptz(6) NOT NULL
);
INSERT INTO hearing (id, since, seen_at) VALUES (1, now(), now());
GRANT SELECT, UPDATE ON hearing TO signalbox_system;
GRANT SELECT ON hearing TO signalbox_app;

CREATE TABLE account_settings (
  account_id text NOT NULL CONSTRAINT account_settings_pkey PRIMARY KEY,
  version integer NOT NULL DEFAULT 1,
  concurrent_runs integer,
  queued_runs integer,
  updated_at timestamptz(6) NOT NULL DEFAULT now(),
  updated_by text NOT NULL
);

CREATE TABLE agent_policy (
  account_id text NOT NULL,
  agent_id text NOT NULL,
  version integer NOT NULL DEFAULT 1,
  retry jsonb,
  silent_limit_seconds integer,
  run_limit_seconds integer,
  queue_ttl_seconds integer,
  invoke_unreachable_after_seconds integer,
  max_offers integer,
  max_concurrent_runs integer,
  max_queued_runs integer,
  updated_at timestamptz(6) NOT NULL DEFAULT now(),
  updated_by text NOT NULL,
  CONSTRAINT agent_policy_pkey PRIMARY KEY (account_id, agent_id)
);
CREATE TABLE agent_queue (
  account_id text NOT NULL,
  agent_id text NOT NULL,
  state text NOT NULL CONSTRAINT agent_queue_state_is_known CHECK (state IN ('open', 'paused', 'draining')),
  since timestamptz(6) NOT NULL DEFAULT now(),
  changed_by text NOT NULL,
  reason text,
  CONSTRAINT agent_queue_pkey PRIMARY KEY (account_id, agent_id)
);

CREATE TABLE worker_action (
  account_id text NOT NULL,
  id text NOT NULL,
  worker_id text NOT NULL,
  agent_id text NOT NULL,
  action text NOT NULL,
  state text NOT NULL DEFAULT 'sent' CONSTRAINT worker_action_state_is_known CHECK (state IN ('sent', 'acknowledged', 'declined', 'done', 'expired')),
  params jsonb NOT NULL DEFAULT '{}',
  reason text,
  detail text,
  created_by text NOT NULL,
  created_at timestamptz(6) NOT NULL DEFAULT now(),
  acked_at timestamptz(6),
  done_at timestamptz(6),
  CONSTRAINT worker_action_pkey PRIMARY KEY (account_id, id)
);
CREATE INDEX worker_action_account_id_worker_id_created_at_id_idx ON worker_action (account_id, worker_id, created_at DESC, id DESC);
-- What is still to be told to a worker, or to expire.
CREATE INDEX worker_action_open ON worker_action (account_id, worker_id) WHERE state IN ('sent', 'acknowledged');

DO $$
DECLARE
  name text;
BEGIN
  FOREACH name IN ARRAY ARRAY['account_settings', 'agent_policy', 'agent_queue', 'worker_action'] LOOP
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO signalbox_app, signalbox_system', name);
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', name);
    EXECUTE format('CREATE POLICY own_account ON %I TO signalbox_app USING (account_id = current_account())', name);
    EXECUTE format('CREATE POLICY every_account ON %I TO signalbox_system USING (true)', name);
  END LOOP;
END $$;

ALTER TABLE run
  ADD COLUMN labels jsonb NOT NULL DEFAULT '{}',
  ADD COLUMN require_version text,
  ADD COLUMN require_labels jsonb NOT NULL DEFAULT '{}',
  ADD COLUMN needs_replay boolean NOT NULL DEFAULT false,
  ADD COLUMN waiting_since timestamptz(6) NOT NULL DEFAULT now(),
  ADD COLUMN not_before timestamptz(6),
  ADD COLUMN failed_offers text[] NOT NULL DEFAULT '{}',
  ADD COLUMN starts integer NOT NULL DEFAULT 0,
  ADD COLUMN first_claimed_at timestamptz(6);
-- What has waited for too long, over all accounts.
CREATE INDEX run_waiting ON run (waiting_since) WHERE status = 'queued';
-- Made again, to be the newest: see the walls.
ALTER TABLE run DROP CONSTRAINT run_pkey, ADD CONSTRAINT run_pkey PRIMARY KEY (account_id, id);

ALTER TABLE worker
  ADD COLUMN mode_since timestamptz(6),
  ADD COLUMN mode_by text,
  ADD COLUMN mode_reason text,
  ADD COLUMN version text NOT NULL DEFAULT 'dev',
  ADD COLUMN labels jsonb NOT NULL DEFAULT '{}',
  ADD COLUMN can_replay boolean NOT NULL DEFAULT false,
  ADD COLUMN unacked_since timestamptz(6);
ALTER TABLE worker ADD CONSTRAINT worker_mode_is_known CHECK (mode IN ('normal', 'draining', 'paused', 'lame_duck'));

-- Rows of before: what they say of themselves stands in their manifests.
SET LOCAL ROLE signalbox_system;
UPDATE run SET waiting_since = queued_at, first_claimed_at = claimed_at, starts = (started_at IS NOT NULL)::int
 WHERE status IN ('queued', 'claimed', 'running');
UPDATE worker SET
  version = coalesce(manifest ->> 'version', 'dev'),
  labels = CASE WHEN jsonb_typeof(manifest -> 'labels') = 'object' THEN manifest -> 'labels' ELSE '{}' END,
  can_replay = coalesce(jsonb_path_exists(manifest, '$.agent_card.capabilities.replay[*]'), false);
RESET ROLE;

DROP VIEW run_facts;
DROP VIEW worker_presence;

-- What other rooms may know of a run: who it belongs to, what it asks for, who holds it, when it moved, and how it ended.
CREATE VIEW run_facts WITH (security_invoker = true) AS
  SELECT account_id, id, agent_id, worker_id, slot, attempt, status, transport, created_at, queued_at, claimed_at, started_at, finished_at,
         day, offers, starts, labels, require_version, require_labels, needs_replay, waiting_since, not_before, failed_offers,
         first_claimed_at, end_code, end_detail, error, cancel_requested_at, cancel_acknowledged_at
    FROM run;
GRANT SELECT ON run_facts TO signalbox_app, signalbox_system;

-- What other rooms may know of a worker: whose it is, what it can, when and how it was last heard, and whether work can reach it.
CREATE VIEW worker_presence WITH (security_invoker = true) AS
  SELECT account_id, id, agent_id, token_id, generation, manifest, dialect, sdk_version, max_concurrent, mode, registered_at,
         first_seen_at, last_seen_at, last_claim_at, last_pong_at, channel_replica, channel_opened_at, channel_closed_at,
         channel_closed_by, last_events_at, unacked_since, mode_since, mode_by, mode_reason, version, labels, can_replay
    FROM worker;
GRANT SELECT ON worker_presence TO signalbox_app, signalbox_system;

-- Under which terms an agent's runs are handed out: its policy, and whether its queue is open. Null: the installation's default.
CREATE VIEW agent_terms WITH (security_invoker = true) AS
  SELECT agent.account_id, agent.id AS agent_id, policy.retry, policy.silent_limit_seconds, policy.run_limit_seconds, policy.queue_ttl_seconds,
         policy.invoke_unreachable_after_seconds, policy.max_offers, policy.max_concurrent_runs, policy.max_queued_runs,
         coalesce(queue.state, 'open') AS queue_state, queue.since AS queue_since, queue.changed_by AS queue_changed_by,
         queue.reason AS queue_reason
    FROM agent
    LEFT JOIN agent_policy AS policy ON policy.account_id = agent.account_id AND policy.agent_id = agent.id
    LEFT JOIN agent_queue AS queue ON queue.account_id = agent.account_id AND queue.agent_id = agent.id;
GRANT SELECT ON agent_terms TO signalbox_app, signalbox_system;

-- How many runs an account may have out, and waiting. Null: as many as there are.
CREATE VIEW account_limits WITH (security_invoker = true) AS
  SELECT account_id, concurrent_runs, queued_runs FROM account_settings;
GRANT SELECT ON account_limits TO signalbox_app, signalbox_system;
