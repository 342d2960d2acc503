-- What people call whoever acts.
CREATE VIEW principal_label WITH (security_invoker = true) AS
  SELECT account_id, id, coalesce(email, name) AS label FROM principal;
GRANT SELECT ON principal_label TO signalbox_app, signalbox_system;
