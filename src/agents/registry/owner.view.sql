-- What grants know an agent by: its handle, which no manifest changes, and the labels that count.
CREATE VIEW agent_owner WITH (security_invoker = true) AS
  SELECT account_id, id, handle, coalesce(own_labels, labels) AS labels FROM agent;
GRANT SELECT ON agent_owner TO signalbox_app, signalbox_system;
