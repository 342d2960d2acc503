-- Whom credentials are bound to, as the caller wrote it: an agent's id or handle.
CREATE VIEW agent_binding WITH (security_invoker = true) AS
  SELECT account_id, agent_ref, credential_id, on_demand FROM credential_binding;
GRANT SELECT ON agent_binding TO signalbox_app, signalbox_system;
