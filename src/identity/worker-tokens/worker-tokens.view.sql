-- What other rooms may know of a worker token: whose it is, and whether it opens anything now.
CREATE VIEW worker_token_state WITH (security_invoker = true) AS
  SELECT account_id, id, handle, agent_id, created_at, expires_at, revoked_at,
         revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now()) AS is_valid
    FROM worker_token;
GRANT SELECT ON worker_token_state TO signalbox_app, signalbox_system;
