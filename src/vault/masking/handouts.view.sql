-- What went out with a run, and when; what a worker of an agent asked for besides: whether there is more to be masked.
CREATE VIEW run_handouts WITH (security_invoker = true) AS
  SELECT account_id, run_id FROM credential_handout;
GRANT SELECT ON run_handouts TO signalbox_app, signalbox_system;
CREATE VIEW agent_pulls WITH (security_invoker = true) AS
  SELECT account_id, agent_id, worker_id, pulled_at FROM credential_pull;
GRANT SELECT ON agent_pulls TO signalbox_app, signalbox_system;
