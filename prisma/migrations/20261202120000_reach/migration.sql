SET LOCAL lock_timeout = '10s';
-- What grants know an agent by: its handle, which no manifest changes, and the labels that count.
CREATE VIEW agent_owner WITH (security_invoker = true) AS
  SELECT account_id, id, handle, coalesce(own_labels, labels) AS labels FROM agent;
GRANT SELECT ON agent_owner TO signalbox_app, signalbox_system;

-- Whether an object is inside what somebody may see of its kind (src/access/decisions/explain.policy.ts writes `reach`, and says the
-- same in TypeScript). `chain`: the object and what it belongs to, [{kind, id, name, labels}].
CREATE FUNCTION access_reaches(reach jsonb, chain jsonb) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT EXISTS (SELECT FROM jsonb_array_elements(chain) AS node
                  WHERE reach ? ((node ->> 'kind') || ':' || (node ->> 'id')) OR reach ? ('*:' || (node ->> 'id')))
      OR EXISTS (
         SELECT FROM jsonb_array_elements(coalesce(reach -> 'rest', '[]')) AS confines
          WHERE NOT EXISTS (
                SELECT FROM jsonb_array_elements(confines) AS confine
                 WHERE NOT EXISTS (
                       SELECT FROM jsonb_array_elements(chain) AS node
                        WHERE (NOT confine ? 'kind' OR (confine ->> 'kind') = (node ->> 'kind'))
                          AND (NOT confine ? 'id' OR (confine ->> 'id') = (node ->> 'id'))
                          AND (NOT confine ? 'like' OR coalesce((node ->> 'name') LIKE (confine ->> 'like'), false))
                          AND (NOT confine ? 'labels' OR coalesce((node -> 'labels') @> (confine -> 'labels'), false)))))
$$;

-- The same for what belongs to an agent, and for the agent itself (`kind` agent, its own id twice).
CREATE FUNCTION access_reaches_of_agent(reach jsonb, account text, kind text, id text, agent text) RETURNS boolean
LANGUAGE sql STABLE AS $$
  SELECT reach ? (kind || ':' || id) OR reach ? ('*:' || id) OR reach ? ('agent:' || agent) OR reach ? ('*:' || agent)
      OR (reach ? 'rest' AND (
         SELECT access_reaches(reach, jsonb_build_array(
                  jsonb_build_object('kind', 'agent', 'id', o.id, 'name', o.handle, 'labels', o.labels),
                  jsonb_build_object('kind', kind, 'id', id)))
           FROM agent_owner AS o WHERE o.account_id = account AND o.id = agent))
$$;
GRANT EXECUTE ON FUNCTION access_reaches(jsonb, jsonb), access_reaches_of_agent(jsonb, text, text, text, text)
   TO signalbox_app, signalbox_system;
