-- What other rooms may know of a run: who it belongs to, who holds it, and when it moved.
CREATE VIEW run_facts WITH (security_invoker = true) AS
  SELECT account_id, id, agent_id, worker_id, slot, attempt, status, transport, created_at, queued_at, claimed_at, started_at, finished_at
    FROM run;
GRANT SELECT ON run_facts TO signalbox_app, signalbox_system;
-- What other rooms may know of a worker: whose it is, when and how it was last heard, and whether work can reach it.
CREATE VIEW worker_presence WITH (security_invoker = true) AS
  SELECT account_id, id, agent_id, token_id, generation, manifest, dialect, sdk_version, max_concurrent, mode, registered_at,
         first_seen_at, last_seen_at, last_claim_at, last_pong_at, channel_replica, channel_opened_at, channel_closed_at
    FROM worker;
GRANT SELECT ON worker_presence TO signalbox_app, signalbox_system;
-- What other rooms may know of an agent: its two names, and whether it takes work.
CREATE VIEW agent_directory WITH (security_invoker = true) AS
  SELECT account_id, id, handle, name, is_enabled, archived_at, created_at FROM agent;
GRANT SELECT ON agent_directory TO signalbox_app, signalbox_system;
-- What other rooms may know of a worker token: whose it is, and whether it opens anything now.
CREATE VIEW worker_token_state WITH (security_invoker = true) AS
  SELECT account_id, id, handle, agent_id, created_at, expires_at, revoked_at,
         revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now()) AS is_valid
    FROM worker_token;
GRANT SELECT ON worker_token_state TO signalbox_app, signalbox_system;
