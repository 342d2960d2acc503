-- When an agent was last changed by somebody's word: its manifest, its policy, or the state of its queue.
CREATE VIEW agent_changes WITH (security_invoker = true) AS
  SELECT agent.account_id, agent.id, greatest(agent.updated_at, policy.updated_at, queue.since) AS changed_at
    FROM agent
    LEFT JOIN agent_policy AS policy ON policy.account_id = agent.account_id AND policy.agent_id = agent.id
    LEFT JOIN agent_queue AS queue ON queue.account_id = agent.account_id AND queue.agent_id = agent.id;
GRANT SELECT ON agent_changes TO signalbox_app, signalbox_system;
