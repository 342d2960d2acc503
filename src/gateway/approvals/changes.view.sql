-- When an approval last changed: asked for, decided, told, or over because its time is, or because nobody waits for the word.
CREATE VIEW approval_changes WITH (security_invoker = true) AS
  SELECT account_id, id, greatest(asked_at, decided_at, delivered_at, settled_at, CASE WHEN expires_at <= now() THEN expires_at END) AS changed_at
    FROM approval;
GRANT SELECT ON approval_changes TO signalbox_app, signalbox_system;
