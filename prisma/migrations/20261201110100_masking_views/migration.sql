-- How the evidence knows what may be masked, and what of it waits.
SET LOCAL lock_timeout = '10s';
CREATE INDEX credential_pull_account_id_agent_id_pulled_at_idx ON credential_pull (account_id, agent_id, pulled_at);
DROP VIEW run_holds;
-- What of a run's evidence is undecided: the sealed ends of its texts, and the number that its sequence is not to be told from. Null: there is none.
CREATE VIEW run_holds WITH (security_invoker = true) AS
  SELECT account_id, id, agent_id, day, finished_at, held_seq, tails, tails_key_id, tails_version, tails_at FROM run;
GRANT SELECT ON run_holds TO signalbox_app, signalbox_system;
-- What went out with a run, and when; what a worker of an agent asked for besides: whether there is more to be masked.
CREATE VIEW run_handouts WITH (security_invoker = true) AS
  SELECT account_id, run_id FROM credential_handout;
GRANT SELECT ON run_handouts TO signalbox_app, signalbox_system;
CREATE VIEW agent_pulls WITH (security_invoker = true) AS
  SELECT account_id, agent_id, worker_id, pulled_at FROM credential_pull;
GRANT SELECT ON agent_pulls TO signalbox_app, signalbox_system;
