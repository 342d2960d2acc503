-- How many runs an account may have out, and waiting. Null: as many as there are.
CREATE VIEW account_limits WITH (security_invoker = true) AS
  SELECT account_id, concurrent_runs, queued_runs FROM account_settings;
GRANT SELECT ON account_limits TO signalbox_app, signalbox_system;
