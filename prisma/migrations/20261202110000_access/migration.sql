SET LOCAL lock_timeout = '10s';
-- What principals may do, as the account decides it. Built-in roles and policies are rules of the program and have no rows.
CREATE TABLE access_policy (
  account_id text NOT NULL REFERENCES account (id),
  id text NOT NULL,
  name text NOT NULL,
  description text,
  -- [{id, capability, resource_type, resource_id, selector, expires_at}], in the order and the words in which they were sent.
  statements jsonb NOT NULL DEFAULT '[]',
  created_at timestamptz(6) NOT NULL DEFAULT now(),
  updated_at timestamptz(6) NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, id),
  CONSTRAINT access_policy_name_key UNIQUE (account_id, name)
);

CREATE TABLE access_role (
  account_id text NOT NULL REFERENCES account (id),
  id text NOT NULL,
  name text NOT NULL,
  description text,
  -- As they were sent: order and repeats come back.
  policy_ids text[] NOT NULL DEFAULT '{}',
  created_at timestamptz(6) NOT NULL DEFAULT now(),
  updated_at timestamptz(6) NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, id),
  CONSTRAINT access_role_name_key UNIQUE (account_id, name)
);

CREATE TABLE access_grant (
  account_id text NOT NULL,
  id text NOT NULL,
  principal_id text NOT NULL,
  kind text NOT NULL CHECK (kind IN ('role', 'capability')),
  role_id text,
  capability text,
  policy_id text,
  resource_type text NOT NULL,
  resource_id text NOT NULL,
  -- As it was sent.
  selector jsonb,
  description text,
  expires_text text,
  expires_at timestamptz(6),
  created_at timestamptz(6) NOT NULL DEFAULT now(),
  created_by text NOT NULL,
  PRIMARY KEY (account_id, id),
  FOREIGN KEY (account_id, principal_id) REFERENCES principal (account_id, id),
  CONSTRAINT access_grant_gives_something CHECK (CASE kind WHEN 'role' THEN role_id IS NOT NULL ELSE capability IS NOT NULL END)
);
CREATE INDEX access_grant_principal_idx ON access_grant (account_id, principal_id);

-- Whether refusals are real. No row: they are.
CREATE TABLE access_mode (
  account_id text PRIMARY KEY REFERENCES account (id),
  mode text NOT NULL CHECK (mode IN ('off', 'shadow', 'enforce')),
  since timestamptz(6) NOT NULL DEFAULT now(),
  changed_by text NOT NULL
);

-- What was refused, or would have been. Kept for a while, written in the background.
CREATE TABLE access_decision (
  account_id text NOT NULL,
  id text NOT NULL,
  at timestamptz(6) NOT NULL,
  principal_id text,
  principal_kind text NOT NULL,
  impersonator_id text,
  capability text NOT NULL,
  operation text NOT NULL,
  resource_type text,
  resource_id text,
  -- What the caller met, and what enforcement says: `allow`, `refuse` or `hide`.
  decision text NOT NULL,
  would_decision text NOT NULL,
  mode text NOT NULL,
  reason text NOT NULL,
  latency_ms float8 NOT NULL,
  request_id text NOT NULL,
  PRIMARY KEY (account_id, id)
);
CREATE INDEX access_decision_at_idx ON access_decision (account_id, at DESC, id DESC);
CREATE INDEX access_decision_all_idx ON access_decision (at);

GRANT SELECT, INSERT, UPDATE, DELETE ON access_policy, access_role, access_grant TO signalbox_app, signalbox_system;
GRANT SELECT, INSERT, UPDATE ON access_mode TO signalbox_app, signalbox_system;
GRANT SELECT, INSERT ON access_decision TO signalbox_app, signalbox_system;
GRANT DELETE ON access_decision TO signalbox_system;
DO $$
DECLARE
  name text;
BEGIN
  FOREACH name IN ARRAY ARRAY['access_policy', 'access_role', 'access_grant', 'access_mode', 'access_decision'] LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', name);
    EXECUTE format('CREATE POLICY own_account ON %I TO signalbox_app USING (account_id = current_account())', name);
    EXECUTE format('CREATE POLICY every_account ON %I TO signalbox_system USING (true)', name);
  END LOOP;
END $$;

-- An agent is a principal too: what its tokens may do beside its work is granted to it like to anybody. Its id is the agent's.
SET LOCAL ROLE signalbox_system;
INSERT INTO principal (account_id, id, kind, name)
  SELECT DISTINCT ON (account_id, agent_id) account_id, agent_id, 'agent', handle FROM worker_token
   ORDER BY account_id, agent_id, created_at;
RESET ROLE;
