SET LOCAL lock_timeout = '10s';
-- People exist once, whatever accounts they are members of: a principal of kind person is one person's membership of one account.
CREATE TABLE person (
  id text PRIMARY KEY,
  -- As it was written; compared without regard to case.
  email text NOT NULL,
  full_name text,
  picture text,
  -- Who vouched for this person at the last sign-in, and their name for them. Null: invited, never signed in.
  issuer text,
  subject text,
  -- May look after the installation itself, beyond their accounts.
  is_system_admin boolean NOT NULL DEFAULT false,
  created_at timestamptz(6) NOT NULL DEFAULT now(),
  last_login_at timestamptz(6),
  CONSTRAINT person_is_vouched_for_by_name CHECK ((issuer IS NULL) = (subject IS NULL))
);
CREATE UNIQUE INDEX person_email_key ON person (lower(email));
CREATE UNIQUE INDEX person_subject_key ON person (issuer, subject);

ALTER TABLE principal
  ADD COLUMN user_id text REFERENCES person (id),
  ADD COLUMN full_name text,
  ADD COLUMN attributes jsonb NOT NULL DEFAULT '{}',
  ADD COLUMN removed_at timestamptz(6);
CREATE UNIQUE INDEX principal_user_key ON principal (account_id, user_id);
CREATE INDEX principal_user_id_idx ON principal (user_id);

GRANT SELECT, INSERT, UPDATE ON person TO signalbox_system;
GRANT SELECT ON person TO signalbox_app;
ALTER TABLE person ENABLE ROW LEVEL SECURITY;
ALTER TABLE person FORCE ROW LEVEL SECURITY;
-- An account sees the people that are, or were, its members.
CREATE POLICY own_people ON person FOR SELECT TO signalbox_app
  USING (EXISTS (SELECT FROM principal p WHERE p.account_id = current_account() AND p.user_id = person.id));
CREATE POLICY every_person ON person TO signalbox_system USING (true);

SET LOCAL ROLE signalbox_system;
INSERT INTO person (id, email, is_system_admin, created_at)
  SELECT 'usr_' || substr(min(p.id), 5), min(p.email), bool_or(p.is_system_admin), min(p.created_at)
    FROM principal p WHERE p.kind = 'person' AND p.email IS NOT NULL GROUP BY lower(p.email);
UPDATE principal p SET user_id = u.id FROM person u WHERE p.kind = 'person' AND lower(p.email) = lower(u.email);
RESET ROLE;
-- principal.is_system_admin stays while replicas of the release before this one may still read it.

ALTER TABLE account
  ADD COLUMN updated_at timestamptz(6) NOT NULL DEFAULT now(),
  ADD COLUMN settings jsonb NOT NULL DEFAULT '{}';

-- A browser's sign-in. The cookie names it and is signed; this row decides.
CREATE TABLE session (
  id text PRIMARY KEY,
  user_id text NOT NULL REFERENCES person (id),
  -- The account that it acts in; null: a member of none.
  in_account_id text REFERENCES account (id),
  -- Whom it acts as there.
  principal_id text,
  -- Of a system admin who acts as somebody else, or looks into an account: `impersonate` or `account_view`, and as whom they came.
  acting text CHECK (acting IN ('impersonate', 'account_view')),
  acting_reason text,
  acting_since timestamptz(6),
  acting_until timestamptz(6),
  home_account_id text,
  home_principal_id text,
  -- How the person was known: `oidc`, `api_key` or `dev`.
  method text NOT NULL,
  user_agent text,
  created_at timestamptz(6) NOT NULL DEFAULT now(),
  last_seen_at timestamptz(6) NOT NULL DEFAULT now(),
  -- Moves with use, up to the cap; both by the database's clock.
  expires_at timestamptz(6) NOT NULL,
  capped_at timestamptz(6) NOT NULL,
  ended_at timestamptz(6),
  ended_because text,
  CONSTRAINT session_acts_for_a_reason CHECK ((acting IS NULL) = (acting_until IS NULL)),
  FOREIGN KEY (in_account_id, principal_id) REFERENCES principal (account_id, id)
);
CREATE INDEX session_user_id_created_at_idx ON session (user_id, created_at);
CREATE INDEX session_principal_idx ON session (in_account_id, principal_id);
CREATE INDEX session_acting_idx ON session (acting_since) WHERE acting IS NOT NULL AND ended_at IS NULL;
CREATE INDEX session_expires_at_idx ON session (expires_at);
-- Sessions belong to people and not to accounts: only work of the installation sees them.
GRANT SELECT, INSERT, UPDATE, DELETE ON session TO signalbox_system;

CREATE TABLE trusted_domain (
  account_id text NOT NULL REFERENCES account (id),
  id text NOT NULL,
  domain text NOT NULL,
  created_at timestamptz(6) NOT NULL DEFAULT now(),
  created_by text NOT NULL,
  PRIMARY KEY (account_id, id)
);
CREATE UNIQUE INDEX trusted_domain_key ON trusted_domain (account_id, lower(domain));
CREATE INDEX trusted_domain_domain_idx ON trusted_domain (lower(domain));
GRANT SELECT, INSERT, DELETE ON trusted_domain TO signalbox_app, signalbox_system;
ALTER TABLE trusted_domain ENABLE ROW LEVEL SECURITY;
ALTER TABLE trusted_domain FORCE ROW LEVEL SECURITY;
CREATE POLICY own_account ON trusted_domain TO signalbox_app USING (account_id = current_account());
CREATE POLICY every_account ON trusted_domain TO signalbox_system USING (true);
