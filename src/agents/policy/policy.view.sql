-- Under which terms an agent's runs are handed out: its policy, and whether its queue is open. Null: the installation's default.
CREATE VIEW agent_terms WITH (security_invoker = true) AS
  SELECT agent.account_id, agent.id AS agent_id, policy.retry, policy.silent_limit_seconds, policy.run_limit_seconds, policy.queue_ttl_seconds,
         policy.invoke_unreachable_after_seconds, policy.max_offers, policy.max_concurrent_runs, policy.max_queued_runs,
         coalesce(queue.state, 'open') AS queue_state, queue.since AS queue_since, queue.changed_by AS queue_changed_by,
         queue.reason AS queue_reason
    FROM agent
    LEFT JOIN agent_policy AS policy ON policy.account_id = agent.account_id AND policy.agent_id = agent.id
    LEFT JOIN agent_queue AS queue ON queue.account_id = agent.account_id AND queue.agent_id = agent.id;
GRANT SELECT ON agent_terms TO signalbox_app, signalbox_system;
