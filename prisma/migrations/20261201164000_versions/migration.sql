-- What a version of an agent is known by, who brought it first, and which skills an agent has now.
SET LOCAL lock_timeout = '10s';

ALTER TABLE agent_generation
  ADD COLUMN card_hash text,
  ADD COLUMN skills_hash text,
  ADD COLUMN first_worker_id text;

CREATE TABLE agent_skill (
  account_id text COLLATE "C" NOT NULL,
  agent_id text COLLATE "C" NOT NULL,
  skill_id text COLLATE "C" NOT NULL,
  generation integer NOT NULL,
  name text NOT NULL,
  description text NOT NULL,
  tags jsonb NOT NULL,
  md5 text NOT NULL,
  path text,
  version text,
  updated_at timestamptz(6) NOT NULL DEFAULT now(),
  CONSTRAINT agent_skill_pkey PRIMARY KEY (account_id, agent_id, skill_id)
);
CREATE INDEX agent_skill_account_id_skill_id_idx ON agent_skill (account_id, skill_id);
GRANT SELECT, INSERT, UPDATE, DELETE ON agent_skill TO signalbox_app, signalbox_system;
ALTER TABLE agent_skill ENABLE ROW LEVEL SECURITY;
ALTER TABLE agent_skill FORCE ROW LEVEL SECURITY;
CREATE POLICY own_account ON agent_skill TO signalbox_app USING (account_id = current_account());
CREATE POLICY every_account ON agent_skill TO signalbox_system USING (true);

-- Rows of before. Who brought them, and the hash that was said, nobody knows any more.
SET LOCAL ROLE signalbox_system;
UPDATE agent_generation SET card_hash = encode(sha256(convert_to(coalesce(manifest -> 'agent_card', '{}')::text, 'UTF8')), 'hex');
INSERT INTO agent_skill (account_id, agent_id, skill_id, generation, name, description, tags, md5, path, version, updated_at)
SELECT DISTINCT ON (g.account_id, g.agent_id, said.skill_id) g.account_id, g.agent_id, said.skill_id, g.generation, coalesce(said.name, ''),
       coalesce(said.description, ''), coalesce(said.tags, '[]'), coalesce(said.md5, ''), said.path, said.version, g.created_at
  FROM agent
  JOIN agent_generation AS g ON g.account_id = agent.account_id AND g.agent_id = agent.id AND g.generation = agent.generation,
       ROWS FROM (jsonb_to_recordset(g.skills) AS (skill_id text, name text, description text, tags jsonb, md5 text, path text, version text))
         WITH ORDINALITY AS said (skill_id, name, description, tags, md5, path, version, place)
 WHERE said.skill_id <> '' AND length(said.skill_id) <= 500
 ORDER BY g.account_id, g.agent_id, said.skill_id, said.place;
RESET ROLE;
ALTER TABLE agent_generation ALTER COLUMN card_hash SET NOT NULL;

-- Nobody reads it any more: which skills an agent has stands in a table.
DROP VIEW agent_skills;
