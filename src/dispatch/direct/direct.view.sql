-- What came of the last call of each worker that was dialled, and until when it is not dialled again.
CREATE VIEW direct_state WITH (security_invoker = true) AS
  SELECT account_id AS dialled_account, worker_id AS dialled_worker, endpoint_url AS dialled_url, outcome, said, called_at, retry_at FROM direct_call;
GRANT SELECT ON direct_state TO signalbox_app, signalbox_system;
