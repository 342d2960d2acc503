
-- Identifiers are compared by their bytes (COLLATE "C"): page cursors then mean the same under every locale.
-- The evidence tables are partitioned by the day on which their run was created: retention drops whole partitions.

-- CreateTable
CREATE TABLE "replica" (
    "id" TEXT COLLATE "C" NOT NULL,
    "started_at" TIMESTAMPTZ(6) NOT NULL,
    "seen_at" TIMESTAMPTZ(6) NOT NULL,

    CONSTRAINT "replica_pkey" PRIMARY KEY ("id")
) WITH (fillfactor = 80);

-- CreateTable
CREATE TABLE "outbox_message" (
    "account_id" TEXT COLLATE "C" NOT NULL,
    "id" UUID NOT NULL DEFAULT uuidv7(),
    "topic" TEXT NOT NULL,
    "payload" JSONB NOT NULL,
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "due_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "outbox_message_pkey" PRIMARY KEY ("account_id","id")
);

-- CreateTable
CREATE TABLE "idempotency_key" (
    "account_id" TEXT COLLATE "C" NOT NULL,
    "principal_id" TEXT COLLATE "C" NOT NULL,
    "operation" TEXT NOT NULL,
    "key" TEXT COLLATE "C" NOT NULL,
    "fingerprint" BYTEA NOT NULL,
    "answer" JSON NOT NULL,
    "deferred" BOOLEAN NOT NULL,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "idempotency_key_pkey" PRIMARY KEY ("account_id","principal_id","operation","key")
);

-- CreateTable
CREATE TABLE "audit_entry" (
    "account_id" TEXT COLLATE "C" NOT NULL,
    "id" TEXT COLLATE "C" NOT NULL,
    "at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "xact" xid8 NOT NULL DEFAULT pg_current_xact_id(),
    "category" TEXT NOT NULL,
    "action" TEXT NOT NULL,
    "operation" TEXT NOT NULL,
    "outcome" TEXT NOT NULL,
    "actor_kind" TEXT NOT NULL,
    "actor_id" TEXT,
    "impersonator_id" TEXT,
    "target_kind" TEXT NOT NULL,
    "target_id" TEXT COLLATE "C" NOT NULL,
    "request_id" TEXT NOT NULL,
    "address" TEXT,
    "detail" JSONB NOT NULL,

    CONSTRAINT "audit_entry_pkey" PRIMARY KEY ("account_id","id")
);

-- CreateTable
CREATE TABLE "account" (
    "id" TEXT COLLATE "C" NOT NULL,
    "slug" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "status" TEXT NOT NULL DEFAULT 'active',
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "account_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "principal" (
    "account_id" TEXT COLLATE "C" NOT NULL,
    "id" TEXT COLLATE "C" NOT NULL,
    "kind" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "email" TEXT,
    "status" TEXT NOT NULL DEFAULT 'active',
    "source" TEXT NOT NULL DEFAULT 'managed',
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "principal_pkey" PRIMARY KEY ("account_id","id")
);

-- CreateTable
CREATE TABLE "api_key" (
    "account_id" TEXT COLLATE "C" NOT NULL,
    "id" TEXT COLLATE "C" NOT NULL,
    "principal_id" TEXT COLLATE "C" NOT NULL,
    "name" TEXT NOT NULL,
    "scopes" TEXT[],
    "secret_hash" BYTEA NOT NULL,
    "sealed" BYTEA,
    "sealed_key_id" TEXT,
    "created_by" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_text" TEXT,
    "expires_at" TIMESTAMPTZ(6),
    "last_used_at" TIMESTAMPTZ(6),
    "revoked_at" TIMESTAMPTZ(6),

    CONSTRAINT "api_key_pkey" PRIMARY KEY ("account_id","id")
);

-- CreateTable
CREATE TABLE "worker_token" (
    "account_id" TEXT COLLATE "C" NOT NULL,
    "id" TEXT COLLATE "C" NOT NULL,
    "handle" TEXT COLLATE "C" NOT NULL,
    "agent_id" TEXT COLLATE "C" NOT NULL,
    "secret_hash" BYTEA NOT NULL,
    "created_by" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "rotated" BOOLEAN NOT NULL DEFAULT false,
    "expires_at" TIMESTAMPTZ(6),
    "last_used_at" TIMESTAMPTZ(6),
    "revoked_at" TIMESTAMPTZ(6),

    CONSTRAINT "worker_token_pkey" PRIMARY KEY ("account_id","id")
);

-- CreateTable
CREATE TABLE "credential_version" (
    "id" INTEGER NOT NULL DEFAULT 1,
    "version" BIGINT NOT NULL DEFAULT 1,

    CONSTRAINT "credential_version_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "credential_watch" (
    "replica_id" TEXT NOT NULL,
    "version" BIGINT NOT NULL,
    "seen_at" TIMESTAMPTZ(6) NOT NULL,

    CONSTRAINT "credential_watch_pkey" PRIMARY KEY ("replica_id")
) WITH (fillfactor = 80);

-- CreateTable
CREATE TABLE "principal_role" (
    "account_id" TEXT COLLATE "C" NOT NULL,
    "principal_id" TEXT COLLATE "C" NOT NULL,
    "role_id" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "principal_role_pkey" PRIMARY KEY ("account_id","principal_id","role_id")
);

-- CreateTable
CREATE TABLE "agent" (
    "account_id" TEXT COLLATE "C" NOT NULL,
    "id" TEXT COLLATE "C" NOT NULL,
    "handle" TEXT COLLATE "C" NOT NULL,
    "name" TEXT NOT NULL DEFAULT '',
    "description" TEXT NOT NULL DEFAULT '',
    "version" TEXT NOT NULL DEFAULT 'dev',
    "owner" TEXT NOT NULL DEFAULT '',
    "repo" TEXT NOT NULL DEFAULT '',
    "source_path" TEXT NOT NULL DEFAULT '',
    "source_commit" TEXT,
    "source_dirty" BOOLEAN,
    "model" TEXT,
    "labels" JSONB NOT NULL DEFAULT '{}',
    "tools" TEXT[],
    "default_input" JSONB NOT NULL DEFAULT '{}',
    "input_schema" JSONB NOT NULL DEFAULT '{}',
    "input_schema_error" TEXT,
    "capabilities" JSONB NOT NULL DEFAULT '{}',
    "agent_card" JSONB NOT NULL DEFAULT '{}',
    "triggers" JSONB NOT NULL DEFAULT '[]',
    "generation" INTEGER NOT NULL DEFAULT 0,
    "manifest_hash" BYTEA,
    "is_enabled" BOOLEAN NOT NULL DEFAULT true,
    "archived_at" TIMESTAMPTZ(6),
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "agent_pkey" PRIMARY KEY ("account_id","id")
);

-- CreateTable
CREATE TABLE "agent_generation" (
    "account_id" TEXT COLLATE "C" NOT NULL,
    "agent_id" TEXT COLLATE "C" NOT NULL,
    "generation" INTEGER NOT NULL,
    "fingerprint" BYTEA NOT NULL,
    "manifest" JSONB NOT NULL,
    "skills" JSONB NOT NULL,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "agent_generation_pkey" PRIMARY KEY ("account_id","agent_id","generation")
);

-- CreateTable
CREATE TABLE "run" (
    "account_id" TEXT COLLATE "C" NOT NULL,
    "id" TEXT COLLATE "C" NOT NULL,
    "day" DATE NOT NULL,
    "agent_id" TEXT COLLATE "C" NOT NULL,
    "status" TEXT NOT NULL DEFAULT 'queued',
    "attempt" INTEGER NOT NULL DEFAULT 0,
    "offers" INTEGER NOT NULL DEFAULT 0,
    "worker_id" TEXT COLLATE "C",
    "slot" INTEGER,
    "priority" INTEGER NOT NULL DEFAULT 0,
    "channel" TEXT NOT NULL DEFAULT 'api',
    "transport" TEXT NOT NULL DEFAULT 'polling',
    "origin_kind" TEXT NOT NULL,
    "origin_id" TEXT,
    "created_by_kind" TEXT NOT NULL,
    "created_by" TEXT NOT NULL,
    "request_id" TEXT NOT NULL,
    "traceparent" TEXT,
    "event_id" TEXT COLLATE "C" NOT NULL,
    "event_is_callers" BOOLEAN NOT NULL DEFAULT false,
    "thread_id" TEXT COLLATE "C" NOT NULL,
    "parent_run_id" TEXT,
    "input" JSON NOT NULL,
    "input_bytes" INTEGER NOT NULL,
    "output" JSON,
    "output_bytes" INTEGER NOT NULL DEFAULT 0,
    "error" TEXT,
    "error_source" TEXT,
    "end_code" TEXT,
    "end_detail" JSONB NOT NULL DEFAULT '{}',
    "metadata" JSON NOT NULL DEFAULT '{}',
    "usage" JSONB,
    "usage_source" TEXT,
    "diagnostics" JSON,
    "snapshot" JSON,
    "tool_calls" INTEGER NOT NULL DEFAULT 0,
    "last_seq" BIGINT NOT NULL DEFAULT 0,
    "terminal_frame_id" TEXT,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "queued_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "claimed_at" TIMESTAMPTZ(6),
    "started_at" TIMESTAMPTZ(6),
    "finished_at" TIMESTAMPTZ(6),
    "cancel_requested_at" TIMESTAMPTZ(6),
    "cancel_reason" TEXT,
    "cancel_acknowledged_at" TIMESTAMPTZ(6),

    CONSTRAINT "run_pkey" PRIMARY KEY ("account_id","id")
) WITH (fillfactor = 80);

-- CreateTable
CREATE TABLE "run_log" (
    "account_id" TEXT COLLATE "C" NOT NULL,
    "run_id" TEXT COLLATE "C" NOT NULL,
    "day" DATE NOT NULL,
    "seq" BIGINT NOT NULL,
    "at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "attempt" INTEGER NOT NULL,
    "type" TEXT NOT NULL,
    "identity" BYTEA,
    "stream_seq" INTEGER,
    "event" JSON NOT NULL,
    "altered" TEXT[],
    "truncated" JSONB,

    CONSTRAINT "run_log_pkey" PRIMARY KEY ("account_id","run_id","seq","day")
) PARTITION BY RANGE ("day");

-- CreateTable
CREATE TABLE "late_evidence" (
    "account_id" TEXT COLLATE "C" NOT NULL,
    "run_id" TEXT COLLATE "C" NOT NULL,
    "day" DATE NOT NULL,
    "id" TEXT COLLATE "C" NOT NULL,
    "at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "attempt" INTEGER,
    "worker_id" TEXT COLLATE "C" NOT NULL,
    "kind" TEXT NOT NULL,
    "why" TEXT NOT NULL,
    "content" JSON NOT NULL,

    CONSTRAINT "late_evidence_pkey" PRIMARY KEY ("account_id","run_id","id","day")
) PARTITION BY RANGE ("day");

-- CreateTable
CREATE TABLE "worker" (
    "account_id" TEXT COLLATE "C" NOT NULL,
    "id" TEXT COLLATE "C" NOT NULL,
    "agent_id" TEXT COLLATE "C" NOT NULL,
    "token_id" TEXT NOT NULL,
    "claimed_handle" TEXT,
    "generation" INTEGER,
    "manifest" JSONB,
    "dialect" TEXT NOT NULL DEFAULT '0.3',
    "sdk_version" TEXT,
    "max_concurrent" INTEGER NOT NULL DEFAULT 1,
    "mode" TEXT NOT NULL DEFAULT 'normal',
    "registered_at" TIMESTAMPTZ(6),
    "first_seen_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "last_seen_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "last_path" TEXT NOT NULL DEFAULT 'frame',
    "last_claim_at" TIMESTAMPTZ(6),
    "last_pong_at" TIMESTAMPTZ(6),
    "round_trip_ms" DOUBLE PRECISION,
    "last_events_at" TIMESTAMPTZ(6),
    "channel_replica" TEXT,
    "channel_nonce" TEXT,
    "channel_opened_at" TIMESTAMPTZ(6),
    "channel_closed_at" TIMESTAMPTZ(6),
    "channel_closed_by" TEXT,
    "health" JSONB,
    "models" JSONB NOT NULL DEFAULT '[]',
    "config" JSONB NOT NULL DEFAULT '{}',
    "refused_frames" JSONB NOT NULL DEFAULT '[]',
    "token_revoked_at" TIMESTAMPTZ(6),

    CONSTRAINT "worker_pkey" PRIMARY KEY ("account_id","id")
) WITH (fillfactor = 80);

-- CreateTable
CREATE TABLE "run_span" (
    "account_id" TEXT COLLATE "C" NOT NULL,
    "run_id" TEXT COLLATE "C" NOT NULL,
    "day" DATE NOT NULL,
    "span_id" TEXT COLLATE "C" NOT NULL,
    "parent_span_id" TEXT COLLATE "C",
    "kind" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "status" TEXT,
    "attempt" INTEGER NOT NULL,
    "first_seq" BIGINT NOT NULL,
    "changed_seq" BIGINT NOT NULL,
    "start_seq" BIGINT,
    "end_seq" BIGINT,
    "started_at" TIMESTAMPTZ(6),
    "ended_at" TIMESTAMPTZ(6),
    "clock_skewed" BOOLEAN NOT NULL DEFAULT false,
    "child_run_id" TEXT,
    "usage" JSONB,
    "bytes" INTEGER NOT NULL DEFAULT 0,

    CONSTRAINT "run_span_pkey" PRIMARY KEY ("account_id","run_id","span_id","day")
) PARTITION BY RANGE ("day");

-- CreateTable
CREATE TABLE "artifact" (
    "account_id" TEXT COLLATE "C" NOT NULL,
    "run_id" TEXT COLLATE "C" NOT NULL,
    "day" DATE NOT NULL,
    "id" TEXT COLLATE "C" NOT NULL,
    "name" TEXT NOT NULL,
    "mime_type" TEXT NOT NULL,
    "content" TEXT NOT NULL,
    "bytes" INTEGER NOT NULL,
    "is_cut" BOOLEAN NOT NULL DEFAULT false,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "artifact_pkey" PRIMARY KEY ("account_id","run_id","id","day")
) PARTITION BY RANGE ("day");

-- CreateIndex
CREATE INDEX "outbox_message_due_at_id_idx" ON "outbox_message"("due_at", "id");

-- CreateIndex
CREATE INDEX "idempotency_key_created_at_idx" ON "idempotency_key"("created_at");

-- CreateIndex
CREATE INDEX "audit_entry_account_id_at_id_idx" ON "audit_entry"("account_id", "at" DESC, "id" DESC);

-- CreateIndex
CREATE INDEX "audit_entry_account_id_target_id_idx" ON "audit_entry"("account_id", "target_id");

-- CreateIndex
CREATE UNIQUE INDEX "account_slug_key" ON "account"("slug");

-- CreateIndex
CREATE UNIQUE INDEX "api_key_secret_hash_key" ON "api_key"("secret_hash");

-- CreateIndex
CREATE INDEX "api_key_account_id_created_at_id_idx" ON "api_key"("account_id", "created_at", "id");

-- CreateIndex
CREATE UNIQUE INDEX "worker_token_secret_hash_key" ON "worker_token"("secret_hash");

-- CreateIndex
CREATE INDEX "api_key_id_idx" ON "api_key"("id");

-- CreateIndex
CREATE INDEX "worker_token_id_idx" ON "worker_token"("id");

-- CreateIndex
CREATE INDEX "worker_token_account_id_handle_created_at_idx" ON "worker_token"("account_id", "handle", "created_at");

-- CreateIndex
CREATE INDEX "agent_account_id_created_at_id_idx" ON "agent"("account_id", "created_at", "id");

-- CreateIndex
CREATE UNIQUE INDEX "agent_account_id_handle_key" ON "agent"("account_id", "handle");

-- CreateIndex
CREATE UNIQUE INDEX "agent_generation_account_id_agent_id_fingerprint_key" ON "agent_generation"("account_id", "agent_id", "fingerprint");

-- CreateIndex
CREATE INDEX "run_account_id_created_at_id_idx" ON "run"("account_id", "created_at" DESC, "id" DESC);

-- CreateIndex
CREATE INDEX "run_account_id_agent_id_created_at_id_idx" ON "run"("account_id", "agent_id", "created_at" DESC, "id" DESC);

-- CreateIndex
CREATE INDEX "worker_account_id_agent_id_idx" ON "worker"("account_id", "agent_id");

-- AddForeignKey
ALTER TABLE "principal" ADD CONSTRAINT "principal_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "account"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "api_key" ADD CONSTRAINT "api_key_account_id_principal_id_fkey" FOREIGN KEY ("account_id", "principal_id") REFERENCES "principal"("account_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "worker_token" ADD CONSTRAINT "worker_token_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "account"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "principal_role" ADD CONSTRAINT "principal_role_account_id_principal_id_fkey" FOREIGN KEY ("account_id", "principal_id") REFERENCES "principal"("account_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "agent" ADD CONSTRAINT "agent_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "account"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "agent_generation" ADD CONSTRAINT "agent_generation_account_id_agent_id_fkey" FOREIGN KEY ("account_id", "agent_id") REFERENCES "agent"("account_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE;


