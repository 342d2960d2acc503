-- Written by hand: what Prisma does not model. Roles, walls between accounts, guards, partial indexes, first partitions.

-- The roles that every session takes. Nobody logs in as one; they own nothing and cannot look past a policy.
-- Roles belong to the server, not to the database: another database may have made them, even in this very moment.
DO $$
DECLARE
  name text;
BEGIN
  FOREACH name IN ARRAY ARRAY['signalbox_app', 'signalbox_system'] LOOP
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = name) THEN
      BEGIN
        EXECUTE format('CREATE ROLE %I NOLOGIN NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE', name);
      EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;
      END;
    END IF;
    IF NOT pg_has_role(CURRENT_USER, name, 'SET') THEN
      EXECUTE format('GRANT %I TO CURRENT_USER WITH INHERIT FALSE, SET TRUE', name);
    END IF;
  END LOOP;
END $$;

-- The account of the running transaction; null outside of one, and then no row is visible.
CREATE FUNCTION current_account() RETURNS text LANGUAGE sql STABLE PARALLEL SAFE
  RETURN NULLIF(current_setting('app.account', true), '');

GRANT USAGE ON SCHEMA public TO signalbox_app, signalbox_system;

-- Tables of the installation: no account's rows, so no account's sessions.
GRANT SELECT, INSERT, UPDATE, DELETE ON replica, credential_watch TO signalbox_system;
GRANT SELECT, UPDATE ON credential_version TO signalbox_app, signalbox_system;
INSERT INTO credential_version (id, version) VALUES (1, 1);

GRANT SELECT, INSERT, UPDATE ON account TO signalbox_system;
GRANT SELECT ON account TO signalbox_app;

-- What was put on record stays: nobody may change or remove a row, not even system work.
GRANT SELECT, INSERT ON audit_entry TO signalbox_app, signalbox_system;
GRANT SELECT, INSERT, UPDATE, DELETE ON outbox_message TO signalbox_system;
GRANT INSERT ON outbox_message TO signalbox_app;
GRANT SELECT, INSERT ON idempotency_key TO signalbox_app;
GRANT SELECT, UPDATE, DELETE ON idempotency_key TO signalbox_system; -- FOR UPDATE asks for the right to update
GRANT SELECT, INSERT, UPDATE, DELETE ON principal, principal_role, api_key, worker_token TO signalbox_app, signalbox_system;
GRANT SELECT, INSERT, UPDATE ON agent, agent_generation, run TO signalbox_app, signalbox_system;
GRANT SELECT, INSERT, UPDATE, DELETE ON worker TO signalbox_app, signalbox_system;
GRANT SELECT, INSERT ON run_log, late_evidence, artifact TO signalbox_app, signalbox_system;
GRANT SELECT, INSERT, UPDATE ON run_span TO signalbox_app, signalbox_system;

-- FORCE binds the owner too. A backfill in a later migration therefore begins with SET LOCAL ROLE signalbox_system.
DO $$
DECLARE
  name text;
BEGIN
  FOREACH name IN ARRAY ARRAY['audit_entry', 'outbox_message', 'idempotency_key', 'principal', 'principal_role', 'api_key',
      'worker_token', 'agent', 'agent_generation', 'run', 'run_log', 'late_evidence', 'worker', 'run_span', 'artifact'] LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', name);
    EXECUTE format('CREATE POLICY own_account ON %I TO signalbox_app USING (account_id = current_account())', name);
    EXECUTE format('CREATE POLICY every_account ON %I TO signalbox_system USING (true)', name);
  END LOOP;
  ALTER TABLE account ENABLE ROW LEVEL SECURITY;
  ALTER TABLE account FORCE ROW LEVEL SECURITY;
  CREATE POLICY own_account ON account TO signalbox_app USING (id = current_account());
  CREATE POLICY every_account ON account TO signalbox_system USING (true);
END $$;

-- A second guard beside the missing privilege, which a mistaken GRANT would not remove.
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'insufficient_privilege';
END $$;
CREATE TRIGGER audit_entry_is_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_entry
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

ALTER TABLE run
  ADD CONSTRAINT run_status_is_known CHECK (status IN ('queued', 'claimed', 'running', 'succeeded', 'failed', 'cancelled')),
  ADD CONSTRAINT run_has_ended CHECK ((finished_at IS NOT NULL) = (status IN ('succeeded', 'failed', 'cancelled'))),
  ADD CONSTRAINT run_has_holder CHECK (status NOT IN ('claimed', 'running') OR worker_id IS NOT NULL);
ALTER TABLE audit_entry ADD CONSTRAINT audit_outcome_is_known CHECK (outcome IN ('done', 'refused', 'failed', 'unknown'));

-- Indexes of runs are few and partial: each move of a run touches every index that holds its row.
-- What is not terminal, by agent: the queue in its order, and whether there is anything at all.
CREATE INDEX run_live ON run (account_id, agent_id, status, priority DESC, queued_at, id) WHERE status IN ('queued', 'claimed', 'running');
-- What a worker holds. A slot holds one live run: capacity is a constraint, not a count. Self-started runs have no slot.
CREATE UNIQUE INDEX run_slot ON run (account_id, worker_id, slot) WHERE status IN ('claimed', 'running');
-- An event id that a caller chose is one run of the agent; ids of ours need no index.
CREATE UNIQUE INDEX run_event ON run (account_id, agent_id, event_id) WHERE event_is_callers;
-- A thread begins with the run of its name; only what follows needs an index.
CREATE INDEX run_thread ON run (account_id, thread_id, created_at, id) WHERE thread_id <> id;
CREATE INDEX run_cancel_pending ON run (account_id, worker_id)
  WHERE cancel_requested_at IS NOT NULL AND cancel_acknowledged_at IS NULL AND worker_id IS NOT NULL;
CREATE INDEX run_latest_success ON run (account_id, agent_id, finished_at DESC) WHERE status = 'succeeded';
-- A state change has no identity, and needs no place in this index.
CREATE UNIQUE INDEX run_log_identity ON run_log (account_id, run_id, identity, day) WHERE identity IS NOT NULL;
-- Where the text of an answer stood: what a resumed reader's next delta is measured against.
CREATE INDEX run_log_output ON run_log (account_id, run_id, seq) WHERE type = 'output.updated';
CREATE INDEX run_span_usage ON run_span (account_id, run_id) WHERE usage IS NOT NULL;
CREATE UNIQUE INDEX worker_token_valid ON worker_token (account_id, handle) WHERE revoked_at IS NULL;
CREATE INDEX api_key_sealed ON api_key (created_at) WHERE sealed IS NOT NULL;
-- Made again, to be the newest. In a small table all indexes look alike to the planner, it then takes the newest, and
-- connections keep that plan: without this a run was found among all runs of its agent until the table was first analyzed.
ALTER TABLE run DROP CONSTRAINT run_pkey, ADD CONSTRAINT run_pkey PRIMARY KEY (account_id, id);
-- Rows of runs are rewritten some five times in their life: dead versions must go before claims have to walk over them.
ALTER TABLE run SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.05);
-- An agent implies its account; without this the planner expects too few rows and sorts instead of walking the index.
CREATE STATISTICS run_agent (dependencies, ndistinct) ON account_id, agent_id FROM run;

-- Partitions are made by the owner. Sessions reach rows through the parents only: a partition has no grants, and walls of its own.
CREATE FUNCTION make_evidence_partition(parent text, day date) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  child text := format('%s_%s', parent, to_char(day, 'YYYYMMDD'));
BEGIN
  IF to_regclass(child) IS NOT NULL THEN RETURN; END IF;
  EXECUTE format('CREATE TABLE %I PARTITION OF %I FOR VALUES FROM (%L) TO (%L)', child, parent, day, day + 1);
  EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', child);
  EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', child);
END $$;
REVOKE ALL ON FUNCTION make_evidence_partition(text, date) FROM PUBLIC;
