-- What other rooms may know of an agent: its two names, and whether it takes work.
CREATE VIEW agent_directory WITH (security_invoker = true) AS
  SELECT account_id, id, handle, name, is_enabled, archived_at, created_at FROM agent;
GRANT SELECT ON agent_directory TO signalbox_app, signalbox_system;
