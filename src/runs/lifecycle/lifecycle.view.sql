-- What other rooms may know of a run: who it belongs to, what it asks for, who holds it, when it moved, and how it ended.
CREATE VIEW run_facts WITH (security_invoker = true) AS
  SELECT account_id, id, agent_id, worker_id, slot, attempt, status, transport, created_at, queued_at, claimed_at, started_at, finished_at,
         day, offers, starts, labels, require_version, require_labels, needs_replay, waiting_since, not_before, failed_offers,
         first_claimed_at, end_code, end_detail, error, cancel_requested_at, cancel_acknowledged_at, cancel_reason, error_source, priority,
         dialled_by
    FROM run;
GRANT SELECT ON run_facts TO signalbox_app, signalbox_system;
