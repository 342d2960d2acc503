-- From which number on a run's sequence is not to be told yet: an event before it waits for what comes next. Null: all of it may be.
CREATE VIEW run_holds WITH (security_invoker = true) AS
  SELECT account_id, id, held_seq FROM run;
GRANT SELECT ON run_holds TO signalbox_app, signalbox_system;
