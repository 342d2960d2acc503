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
