-- What a register is asked for most, each newest first: a rare row among millions is found without walking through them.
CREATE INDEX "audit_entry_account_id_actor_id_at_id_idx" ON "audit_entry"("account_id", "actor_id", "at" DESC, "id" DESC);
CREATE INDEX "audit_entry_account_id_category_at_id_idx" ON "audit_entry"("account_id", "category", "at" DESC, "id" DESC);
CREATE INDEX "audit_entry_account_id_request_id_idx" ON "audit_entry"("account_id", "request_id");
