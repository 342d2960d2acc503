-- Runs that go on from others, what runs cost, texts that can be searched, artifacts that workers write, and what an account keeps.
SET LOCAL lock_timeout = '10s';

ALTER TABLE account_settings
  ADD COLUMN content text NOT NULL DEFAULT 'full' CONSTRAINT account_settings_content_is_known CHECK (content IN ('full', 'metadata')),
  ADD COLUMN runs_days integer,
  ADD COLUMN evidence_days integer,
  ADD COLUMN sessions_days integer,
  ADD COLUMN audit_days integer;

-- A worker may overwrite what it wrote itself. What was taken from an event is part of the record and stays.
ALTER TABLE artifact ADD COLUMN is_written boolean NOT NULL DEFAULT false;
GRANT UPDATE (name, mime_type, content, bytes) ON artifact TO signalbox_app, signalbox_system;

ALTER TABLE run
  ADD COLUMN is_withheld boolean NOT NULL DEFAULT false,
  ADD COLUMN revived_from text COLLATE "C",
  ADD COLUMN prior_snapshot json,
  ADD COLUMN cost_amount double precision,
  ADD COLUMN cost_source text,
  ADD COLUMN cost_currency text,
  ADD COLUMN model text,
  ADD COLUMN provider text;
-- What runs cost is read off this index alone. A run enters it once, at its end.
CREATE INDEX run_activity ON run (account_id, agent_id, created_at) INCLUDE (id, status, cost_amount, cost_source, cost_currency, model, provider)
  WHERE finished_at IS NOT NULL;
-- Who called whom, and what went on from what: few runs have either.
CREATE INDEX run_children ON run (account_id, parent_run_id, created_at, id) WHERE parent_run_id IS NOT NULL;
CREATE INDEX run_revivals ON run (account_id, revived_from, created_at, id) WHERE revived_from IS NOT NULL;
CREATE INDEX run_span_child ON run_span (account_id, run_id, child_run_id) WHERE child_run_id IS NOT NULL;
-- Made again, to be the newest: see the walls.
ALTER TABLE run DROP CONSTRAINT run_pkey, ADD CONSTRAINT run_pkey PRIMARY KEY (account_id, id);

-- Ended runs whose texts cannot be found yet.
CREATE TABLE search_pending (
  account_id text COLLATE "C" NOT NULL,
  run_id text COLLATE "C" NOT NULL,
  day date NOT NULL,
  added_at timestamptz(6) NOT NULL DEFAULT now(),
  CONSTRAINT search_pending_pkey PRIMARY KEY (account_id, run_id)
);
CREATE INDEX search_pending_added_at_idx ON search_pending (added_at);

-- What was said in runs, as words. The account is one of them, so that no search walks through the words of another.
CREATE TABLE evidence_text (
  account_id text COLLATE "C" NOT NULL,
  run_id text COLLATE "C" NOT NULL,
  day date NOT NULL,
  seq bigint NOT NULL,
  kind text NOT NULL,
  agent_id text COLLATE "C" NOT NULL,
  span_id text COLLATE "C",
  at timestamptz(6) NOT NULL,
  words tsvector NOT NULL,
  CONSTRAINT evidence_text_pkey PRIMARY KEY (account_id, run_id, seq, kind, day)
) PARTITION BY RANGE (day);
CREATE INDEX evidence_text_words ON evidence_text USING gin (words);

DO $$
DECLARE
  name text;
  day text;
BEGIN
  FOREACH name IN ARRAY ARRAY['search_pending', 'evidence_text'] LOOP
    EXECUTE format('GRANT SELECT, INSERT, DELETE ON %I TO signalbox_app, signalbox_system', name);
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', name);
    EXECUTE format('CREATE POLICY own_account ON %I TO signalbox_app USING (account_id = current_account())', name);
    EXECUTE format('CREATE POLICY every_account ON %I TO signalbox_system USING (true)', name);
  END LOOP;
  -- Texts stand beside the events that they are of.
  FOR day IN SELECT right(inhrelid::regclass::text, 8) FROM pg_inherits WHERE inhparent = 'run_log'::regclass LOOP
    PERFORM make_evidence_partition('evidence_text', to_date(day, 'YYYYMMDD'));
  END LOOP;
END $$;
GRANT UPDATE ON search_pending TO signalbox_system; -- FOR UPDATE asks for the right to update

-- Whatever ends a run: what it cost stands in columns then, its texts are to be found, and of a run whose account keeps no
-- content nothing of it stays.
CREATE FUNCTION end_run() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF jsonb_typeof(NEW.usage -> 'cost_amount') = 'number' THEN
    NEW.cost_amount := (NEW.usage ->> 'cost_amount')::float8;
    NEW.cost_source := NEW.usage ->> 'cost_source';
    NEW.cost_currency := left(coalesce(NEW.usage ->> 'currency', 'USD'), 20);
  END IF;
  NEW.model := left(NEW.usage ->> 'model', 200);
  NEW.provider := left(NEW.usage ->> 'provider', 200);
  IF NEW.is_withheld THEN
    NEW.input := '{}';
    NEW.input_bytes := 0;
    NEW.output := NULL;
    NEW.output_bytes := 0;
    NEW.metadata := '{}';
    NEW.diagnostics := NULL;
    NEW.snapshot := NULL;
    NEW.prior_snapshot := NULL;
    IF NEW.error_source = 'worker' THEN NEW.error := 'The account keeps no content'; END IF;
  ELSE
    INSERT INTO search_pending (account_id, run_id, day) VALUES (NEW.account_id, NEW.id, NEW.day) ON CONFLICT DO NOTHING;
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER run_ends BEFORE UPDATE ON run FOR EACH ROW WHEN (OLD.finished_at IS NULL AND NEW.finished_at IS NOT NULL)
  EXECUTE FUNCTION end_run();

-- Rows of before.
SET LOCAL ROLE signalbox_system;
UPDATE run SET
  cost_amount = CASE WHEN jsonb_typeof(usage -> 'cost_amount') = 'number' THEN (usage ->> 'cost_amount')::float8 END,
  cost_source = CASE WHEN jsonb_typeof(usage -> 'cost_amount') = 'number' THEN usage ->> 'cost_source' END,
  cost_currency = CASE WHEN jsonb_typeof(usage -> 'cost_amount') = 'number' THEN left(coalesce(usage ->> 'currency', 'USD'), 20) END,
  model = left(usage ->> 'model', 200),
  provider = left(usage ->> 'provider', 200)
 WHERE finished_at IS NOT NULL AND usage IS NOT NULL;
INSERT INTO search_pending (account_id, run_id, day) SELECT account_id, id, day FROM run WHERE finished_at IS NOT NULL;
RESET ROLE;

-- What an account keeps of its runs and how long, in days. Null: for ever.
CREATE VIEW account_keeping WITH (security_invoker = true) AS
  SELECT account_id, content, runs_days, evidence_days, sessions_days, audit_days FROM account_settings;
GRANT SELECT ON account_keeping TO signalbox_app, signalbox_system;

-- What a run says at its ends, where the words of it are found; and whether its account keeps no content of it.
CREATE VIEW run_content WITH (security_invoker = true) AS
  SELECT account_id, id, day, agent_id, status, created_at, finished_at, last_seq, is_withheld, input, output, error FROM run;
GRANT SELECT ON run_content TO signalbox_app, signalbox_system;

-- Which skills the generations of an agent were made with, as its workers reported them.
CREATE VIEW agent_skills WITH (security_invoker = true) AS
  SELECT generation.account_id, generation.agent_id, generation.generation, generation.created_at, skill.value AS skill
    FROM agent_generation AS generation,
         jsonb_array_elements(CASE WHEN jsonb_typeof(generation.skills) = 'array' THEN generation.skills ELSE '[]' END) AS skill;
GRANT SELECT ON agent_skills TO signalbox_app, signalbox_system;
