-- Which skills the generations of an agent were made with, as its workers reported them.
CREATE VIEW agent_skills WITH (security_invoker = true) AS
  SELECT generation.account_id, generation.agent_id, generation.generation, generation.created_at, skill.value AS skill
    FROM agent_generation AS generation,
         jsonb_array_elements(CASE WHEN jsonb_typeof(generation.skills) = 'array' THEN generation.skills ELSE '[]' END) AS skill;
GRANT SELECT ON agent_skills TO signalbox_app, signalbox_system;
