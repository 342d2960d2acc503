-- The vault: credentials and their sealed values, whom they are bound to, what was handed out, and the keys that seal.
SET LOCAL lock_timeout = '10s';

ALTER TABLE replica ADD COLUMN key_ids text[] NOT NULL DEFAULT '{}';
ALTER TABLE principal ADD COLUMN is_system_admin boolean NOT NULL DEFAULT false;

-- Tables of the installation: no account's rows.
CREATE TABLE vault_key (
  id text NOT NULL CONSTRAINT vault_key_pkey PRIMARY KEY,
  created_at timestamptz(6) NOT NULL DEFAULT now(),
  activated_at timestamptz(6)
);
CREATE TABLE key_rotation (
  id text NOT NULL CONSTRAINT key_rotation_pkey PRIMARY KEY,
  state text NOT NULL DEFAULT 'running' CONSTRAINT key_rotation_state_is_known CHECK (state IN ('running', 'done', 'failed')),
  from_key text NOT NULL,
  to_key text NOT NULL,
  total integer NOT NULL,
  done integer NOT NULL DEFAULT 0,
  started_at timestamptz(6) NOT NULL DEFAULT now(),
  finished_at timestamptz(6),
  error text,
  started_by text NOT NULL
);
-- One at a time.
CREATE UNIQUE INDEX key_rotation_running ON key_rotation (state) WHERE state = 'running';
GRANT SELECT, INSERT, UPDATE ON vault_key, key_rotation TO signalbox_app, signalbox_system;

CREATE TABLE credential (
  account_id text NOT NULL,
  id text NOT NULL,
  name text NOT NULL,
  description text,
  owner text,
  labels json NOT NULL,
  status text NOT NULL DEFAULT 'active' CONSTRAINT credential_status_is_known CHECK (status IN ('active', 'disabled')),
  active_version integer NOT NULL DEFAULT 1,
  keys text[],
  created_by text NOT NULL,
  created_at timestamptz(6) NOT NULL DEFAULT now(),
  updated_at timestamptz(6) NOT NULL DEFAULT now(),
  last_replaced_at timestamptz(6),
  last_used_at timestamptz(6),
  CONSTRAINT credential_pkey PRIMARY KEY (account_id, id)
);
CREATE UNIQUE INDEX credential_account_id_name_key ON credential (account_id, name);
CREATE INDEX credential_account_id_created_at_id_idx ON credential (account_id, created_at, id);

CREATE TABLE credential_value (
  account_id text NOT NULL,
  credential_id text NOT NULL,
  version integer NOT NULL,
  sealed bytea NOT NULL,
  sealed_key_id text NOT NULL,
  created_at timestamptz(6) NOT NULL DEFAULT now(),
  superseded_at timestamptz(6),
  CONSTRAINT credential_value_pkey PRIMARY KEY (account_id, credential_id, version)
);
CREATE INDEX credential_value_sealed_key_id_idx ON credential_value (sealed_key_id);
-- What is kept only because a run may echo it.
CREATE INDEX credential_value_superseded ON credential_value (superseded_at) WHERE superseded_at IS NOT NULL;

CREATE TABLE credential_binding (
  account_id text NOT NULL,
  credential_id text NOT NULL,
  agent_ref text NOT NULL,
  on_demand boolean NOT NULL,
  created_by text NOT NULL,
  created_at timestamptz(6) NOT NULL DEFAULT now(),
  CONSTRAINT credential_binding_pkey PRIMARY KEY (account_id, credential_id, agent_ref)
);
CREATE INDEX credential_binding_account_id_agent_ref_idx ON credential_binding (account_id, agent_ref);

CREATE TABLE credential_handout (
  account_id text NOT NULL,
  run_id text NOT NULL,
  credential_id text NOT NULL,
  version integer NOT NULL,
  attempt integer NOT NULL,
  worker_id text NOT NULL,
  handed_out_at timestamptz(6) NOT NULL DEFAULT now(),
  CONSTRAINT credential_handout_pkey PRIMARY KEY (account_id, run_id, credential_id, version)
);
CREATE INDEX credential_handout_account_id_credential_id_version_idx ON credential_handout (account_id, credential_id, version);
CREATE INDEX credential_handout_handed_out_at_idx ON credential_handout (handed_out_at);

CREATE TABLE credential_pull (
  account_id text NOT NULL,
  agent_id text NOT NULL,
  worker_id text NOT NULL,
  credential_id text NOT NULL,
  version integer NOT NULL,
  pulled_at timestamptz(6) NOT NULL DEFAULT now(),
  CONSTRAINT credential_pull_pkey PRIMARY KEY (account_id, agent_id, worker_id, credential_id, version)
);
CREATE INDEX credential_pull_account_id_credential_id_version_idx ON credential_pull (account_id, credential_id, version);

DO $$
DECLARE
  name text;
BEGIN
  FOREACH name IN ARRAY ARRAY['credential', 'credential_value', 'credential_binding', 'credential_handout', 'credential_pull'] LOOP
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO signalbox_app, signalbox_system', name);
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', name);
    EXECUTE format('CREATE POLICY own_account ON %I TO signalbox_app USING (account_id = current_account())', name);
    EXECUTE format('CREATE POLICY every_account ON %I TO signalbox_system USING (true)', name);
  END LOOP;
END $$;

-- The installation belongs to the first person of the first account.
SET LOCAL ROLE signalbox_system;
UPDATE principal SET is_system_admin = true
 WHERE (account_id, id) = (
   SELECT a.id, p.id FROM account a JOIN principal p ON p.account_id = a.id AND p.kind = 'person'
    ORDER BY a.created_at, a.id, p.created_at, p.id LIMIT 1);
RESET ROLE;

-- Whom credentials are bound to, as the caller wrote it: an agent's id or handle.
CREATE VIEW agent_binding WITH (security_invoker = true) AS
  SELECT account_id, agent_ref, credential_id, on_demand FROM credential_binding;
GRANT SELECT ON agent_binding TO signalbox_app, signalbox_system;
