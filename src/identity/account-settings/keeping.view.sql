-- What an account keeps of its runs and how long, in days. Null: for ever.
CREATE VIEW account_keeping WITH (security_invoker = true) AS
  SELECT account_id, content, runs_days, evidence_days, sessions_days, audit_days FROM account_settings;
GRANT SELECT ON account_keeping TO signalbox_app, signalbox_system;
