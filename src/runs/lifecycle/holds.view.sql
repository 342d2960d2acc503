-- What of a run's evidence is undecided: the sealed ends of its texts, and the number that its sequence is not to be told from. Null: there is none.
CREATE VIEW run_holds WITH (security_invoker = true) AS
  SELECT account_id, id, agent_id, day, finished_at, held_seq, tails, tails_key_id, tails_version, tails_at FROM run;
GRANT SELECT ON run_holds TO signalbox_app, signalbox_system;
