-- The versions that stood behind each other for an agent's workers; the highest revision is in force.
CREATE VIEW agent_config_versions WITH (security_invoker = true) AS
  SELECT account_id, agent_id, revision, version, skills_version, action_rules_version FROM agent_worker_config;
GRANT SELECT ON agent_config_versions TO signalbox_app, signalbox_system;
