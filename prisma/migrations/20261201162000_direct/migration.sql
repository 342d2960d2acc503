-- Runs that go to a worker by dialling it, and what came of the last call of each.
SET LOCAL lock_timeout = '10s';

ALTER TABLE run ADD COLUMN dialled_by text;
-- Whose answer nobody waits for any more.
CREATE INDEX run_dialled ON run (dialled_by) WHERE dialled_by IS NOT NULL AND status IN ('claimed', 'running');
-- Who can be dialled at all; the address itself may be longer than an index takes.
CREATE INDEX worker_endpoint ON worker (account_id, agent_id, id) WHERE endpoint_url IS NOT NULL;

CREATE TABLE direct_call (
  account_id text NOT NULL,
  worker_id text NOT NULL,
  endpoint_url text NOT NULL,
  outcome text NOT NULL CONSTRAINT direct_call_outcome_is_known CHECK (outcome IN ('answered', 'lost', 'unsent', 'excluded')),
  said text,
  failures integer NOT NULL DEFAULT 0,
  called_at timestamptz(6) NOT NULL DEFAULT now(),
  retry_at timestamptz(6),
  CONSTRAINT direct_call_pkey PRIMARY KEY (account_id, worker_id)
);
ALTER TABLE direct_call ADD CONSTRAINT direct_call_account_id_worker_id_fkey
  FOREIGN KEY (account_id, worker_id) REFERENCES worker (account_id, id) ON DELETE CASCADE ON UPDATE CASCADE;
GRANT SELECT, INSERT, UPDATE, DELETE ON direct_call TO signalbox_app, signalbox_system;
ALTER TABLE direct_call ENABLE ROW LEVEL SECURITY;
ALTER TABLE direct_call FORCE ROW LEVEL SECURITY;
CREATE POLICY own_account ON direct_call TO signalbox_app USING (account_id = current_account());
CREATE POLICY every_account ON direct_call TO signalbox_system USING (true);

DROP VIEW run_facts;
-- What other rooms may know of a run: who it belongs to, what it asks for, who holds it, when it moved, and how it ended.
CREATE VIEW run_facts WITH (security_invoker = true) AS
  SELECT account_id, id, agent_id, worker_id, slot, attempt, status, transport, created_at, queued_at, claimed_at, started_at, finished_at,
         day, offers, starts, labels, require_version, require_labels, needs_replay, waiting_since, not_before, failed_offers,
         first_claimed_at, end_code, end_detail, error, cancel_requested_at, cancel_acknowledged_at, cancel_reason, error_source, priority,
         dialled_by
    FROM run;
GRANT SELECT ON run_facts TO signalbox_app, signalbox_system;

-- What came of the last call of each worker that was dialled, and until when it is not dialled again.
CREATE VIEW direct_state WITH (security_invoker = true) AS
  SELECT account_id AS dialled_account, worker_id AS dialled_worker, endpoint_url AS dialled_url, outcome, said, called_at, retry_at FROM direct_call;
GRANT SELECT ON direct_state TO signalbox_app, signalbox_system;
