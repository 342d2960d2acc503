-- What changed since a moment, for those who were away.
SET LOCAL lock_timeout = '10s';
-- Each run enters once, when it ends.
CREATE INDEX run_finished ON run (account_id, finished_at) WHERE finished_at IS NOT NULL;
-- Made again, to be the newest: see the walls.
ALTER TABLE run DROP CONSTRAINT run_pkey, ADD CONSTRAINT run_pkey PRIMARY KEY (account_id, id);

-- When an agent was last changed by somebody's word: its manifest, its policy, or the state of its queue.
CREATE VIEW agent_changes WITH (security_invoker = true) AS
  SELECT agent.account_id, agent.id, greatest(agent.updated_at, policy.updated_at, queue.since) AS changed_at
    FROM agent
    LEFT JOIN agent_policy AS policy ON policy.account_id = agent.account_id AND policy.agent_id = agent.id
    LEFT JOIN agent_queue AS queue ON queue.account_id = agent.account_id AND queue.agent_id = agent.id;
GRANT SELECT ON agent_changes TO signalbox_app, signalbox_system;

-- When an approval last changed: asked for, decided, told, or over because its time is, or because nobody waits for the word.
CREATE VIEW approval_changes WITH (security_invoker = true) AS
  SELECT account_id, id, greatest(asked_at, decided_at, delivered_at, settled_at, CASE WHEN expires_at <= now() THEN expires_at END) AS changed_at
    FROM approval;
GRANT SELECT ON approval_changes TO signalbox_app, signalbox_system;
