SET LOCAL lock_timeout = '10s';
-- An account that takes a membership away ends what its member is signed in with there, in the same transaction.
ALTER TABLE session ENABLE ROW LEVEL SECURITY;
ALTER TABLE session FORCE ROW LEVEL SECURITY;
CREATE POLICY every_session ON session TO signalbox_system USING (true);
CREATE POLICY sessions_here ON session TO signalbox_app
  USING (current_account() IN (in_account_id, home_account_id));
GRANT SELECT (in_account_id, principal_id, home_account_id, home_principal_id, ended_at), UPDATE (ended_at, ended_because)
  ON session TO signalbox_app;
CREATE INDEX session_home_idx ON session (home_account_id, home_principal_id) WHERE home_account_id IS NOT NULL;
