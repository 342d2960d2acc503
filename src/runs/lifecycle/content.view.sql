-- What a run says at its ends, where the words of it are found; and whether its account keeps no content of it.
CREATE VIEW run_content WITH (security_invoker = true) AS
  SELECT account_id, id, day, agent_id, status, created_at, finished_at, last_seq, is_withheld, input, output, error FROM run;
GRANT SELECT ON run_content TO signalbox_app, signalbox_system;
