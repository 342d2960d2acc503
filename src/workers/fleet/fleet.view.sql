-- What other rooms may know of a worker: whose it is, what it can, when and how it was last heard, and whether work can reach it.
CREATE VIEW worker_presence WITH (security_invoker = true) AS
  SELECT account_id, id, agent_id, token_id, generation, manifest, dialect, sdk_version, max_concurrent, mode, registered_at,
         first_seen_at, last_seen_at, last_claim_at, last_pong_at, channel_replica, channel_opened_at, channel_closed_at,
         channel_closed_by, last_events_at, unacked_since, mode_since, mode_by, mode_reason, version, labels, can_replay, endpoint_url,
         window_seconds
    FROM worker;
GRANT SELECT ON worker_presence TO signalbox_app, signalbox_system;
