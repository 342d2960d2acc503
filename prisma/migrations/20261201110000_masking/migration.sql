-- What was masked in a run's evidence, and what waits for the rest of a value that may be split over two texts.
SET LOCAL lock_timeout = '10s';
ALTER TABLE run
  ADD COLUMN masked integer NOT NULL DEFAULT 0,
  ADD COLUMN tails bytea,
  ADD COLUMN tails_key_id text,
  ADD COLUMN tails_version integer NOT NULL DEFAULT 0,
  ADD COLUMN tails_at timestamptz(6),
  ADD COLUMN held_seq bigint;
ALTER TABLE run_log ADD COLUMN masked jsonb;
-- Runs of which something is kept that waits: few, and never for long.
CREATE INDEX run_tails ON run (tails_at) WHERE tails_at IS NOT NULL;
-- Made again, to be the newest: see the walls.
ALTER TABLE run DROP CONSTRAINT run_pkey, ADD CONSTRAINT run_pkey PRIMARY KEY (account_id, id);

-- From which number on a run's sequence is not to be told yet: an event before it waits for what comes next. Null: all of it may be.
CREATE VIEW run_holds WITH (security_invoker = true) AS
  SELECT account_id, id, held_seq FROM run;
GRANT SELECT ON run_holds TO signalbox_app, signalbox_system;
