-- What other rooms may know of a run: who it belongs to, who holds it, and when it moved.
CREATE VIEW run_facts WITH (security_invoker = true) AS
  SELECT account_id, id, agent_id, worker_id, slot, attempt, status, transport, created_at, queued_at, claimed_at, started_at, finished_at
    FROM run;
GRANT SELECT ON run_facts TO signalbox_app, signalbox_system;
