-- What workers said of their configuration, and what they were handed.
CREATE VIEW worker_config_state WITH (security_invoker = true) AS
  SELECT account_id, id, agent_id, config FROM worker WHERE registered_at IS NOT NULL;
GRANT SELECT ON worker_config_state TO signalbox_app, signalbox_system;
