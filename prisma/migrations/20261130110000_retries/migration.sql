-- What was reported of attempts that were tried again, and the limit of a run that waits for its next attempt.
SET LOCAL lock_timeout = '10s';
ALTER TABLE run ADD COLUMN retried_frames text[] NOT NULL DEFAULT '{}';
-- Runs that wait again, by when their limit began: few, and the sweep asks for nothing else.
CREATE INDEX run_waits_again ON run (first_claimed_at) WHERE status = 'queued' AND first_claimed_at IS NOT NULL;
-- Made again, to be the newest: see the walls.
ALTER TABLE run DROP CONSTRAINT run_pkey, ADD CONSTRAINT run_pkey PRIMARY KEY (account_id, id);
