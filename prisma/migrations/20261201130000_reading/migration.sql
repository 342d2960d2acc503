-- What arrived of a run and what became of it, and spans that are read in pages however many there are.
SET LOCAL lock_timeout = '10s';

CREATE TABLE run_intake (
  account_id text NOT NULL,
  run_id text NOT NULL,
  day date NOT NULL,
  attempt integer NOT NULL,
  stored bigint NOT NULL DEFAULT 0,
  duplicate bigint NOT NULL DEFAULT 0,
  refused bigint NOT NULL DEFAULT 0,
  refused_codes jsonb NOT NULL DEFAULT '{}',
  truncated bigint NOT NULL DEFAULT 0,
  altered bigint NOT NULL DEFAULT 0,
  batches int8multirange NOT NULL DEFAULT '{}',
  skew_min_ms bigint,
  skew_max_ms bigint,
  first_at timestamptz(6) NOT NULL DEFAULT now(),
  last_at timestamptz(6) NOT NULL DEFAULT now(),
  CONSTRAINT run_intake_pkey PRIMARY KEY (account_id, run_id, attempt, day)
) PARTITION BY RANGE (day);
GRANT SELECT, INSERT, UPDATE ON run_intake TO signalbox_app, signalbox_system;
ALTER TABLE run_intake ENABLE ROW LEVEL SECURITY;
ALTER TABLE run_intake FORCE ROW LEVEL SECURITY;
CREATE POLICY own_account ON run_intake TO signalbox_app USING (account_id = current_account());
CREATE POLICY every_account ON run_intake TO signalbox_system USING (true);

-- Where evidence is kept already, its counts are kept as well: batches go on while this is rolled out.
DO $$
DECLARE
  child name;
BEGIN
  FOR child IN SELECT relname FROM pg_inherits JOIN pg_class ON oid = inhrelid WHERE inhparent = 'run_log'::regclass LOOP
    PERFORM make_evidence_partition('run_intake', to_date(right(child, 8), 'YYYYMMDD'));
  END LOOP;
END $$;

-- The order of a run's spans, which never changes. The account is left out on purpose: while a table is young, an index that
-- begins like the primary key looks as good to the planner for finding one span, and each look would walk over the whole run.
CREATE INDEX run_span_run_id_first_seq_idx ON run_span (run_id, first_seq);
