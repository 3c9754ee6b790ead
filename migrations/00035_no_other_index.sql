-- The constraints whose indexes the partial ones replace. The unique constraint that stays tells logical replication
-- which row is which.

-- +goose NO TRANSACTION
-- +goose Up
-- Each statement holds the lock on one table, for a moment.
ALTER TABLE idempotency_keys DROP CONSTRAINT IF EXISTS idempotency_keys_pkey,
    REPLICA IDENTITY USING INDEX uq_idempotency_org_key_endpoint;
ALTER TABLE validation_runs DROP CONSTRAINT IF EXISTS uq_validation_runs_idempotency_key;
-- Steps and findings are found by their run. Nothing asks for their ids.
ALTER TABLE step_runs DROP CONSTRAINT IF EXISTS step_runs_pkey, REPLICA IDENTITY USING INDEX uq_step_runs_ordinal;
ALTER TABLE findings DROP CONSTRAINT IF EXISTS findings_pkey, REPLICA IDENTITY USING INDEX uq_findings_ordinal;

-- +goose Down
ALTER TABLE findings ADD CONSTRAINT findings_pkey PRIMARY KEY (org_id, id), REPLICA IDENTITY DEFAULT;
ALTER TABLE step_runs ADD CONSTRAINT step_runs_pkey PRIMARY KEY (org_id, id), REPLICA IDENTITY DEFAULT;
ALTER TABLE validation_runs ADD CONSTRAINT uq_validation_runs_idempotency_key UNIQUE (org_id, idempotency_key_id);
ALTER TABLE idempotency_keys ADD CONSTRAINT idempotency_keys_pkey PRIMARY KEY (org_id, id), REPLICA IDENTITY DEFAULT;
