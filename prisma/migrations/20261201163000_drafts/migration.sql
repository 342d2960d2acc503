-- What somebody has written into an agent that no worker has registered for, and the labels that somebody gave it in place
-- of its workers'.
SET LOCAL lock_timeout = '10s';
ALTER TABLE "agent" ADD COLUMN "draft_config" JSON, ADD COLUMN "own_labels" JSONB;
