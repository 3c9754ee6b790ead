-- One index for each way to find a row, so that no statement depends on statistics.
--
-- Without statistics, and with those of an empty table, all indexes that begin with the organization cost the planner
-- the same, and it may take one that reads everything the organization has. A partial index is considered only by
-- statements that meet its condition. Conditions such as "id IS NOT NULL" hold for every row, and follow from any
-- comparison of the column.

-- +goose NO TRANSACTION
-- +goose Up
-- Building waits for all transactions that are older, and holds up nobody meanwhile.
SET lock_timeout = 0;
DROP INDEX CONCURRENTLY IF EXISTS uq_idempotency_keys_id;
CREATE UNIQUE INDEX CONCURRENTLY uq_idempotency_keys_id ON idempotency_keys (org_id, id) WHERE id IS NOT NULL;
DROP INDEX CONCURRENTLY IF EXISTS uq_validation_runs_key;
CREATE UNIQUE INDEX CONCURRENTLY uq_validation_runs_key ON validation_runs (org_id, idempotency_key_id)
    WHERE idempotency_key_id IS NOT NULL;
DROP INDEX CONCURRENTLY IF EXISTS ix_validation_runs_by_workflow;
CREATE INDEX CONCURRENTLY ix_validation_runs_by_workflow ON validation_runs (org_id, workflow_id, id)
    WHERE workflow_id IS NOT NULL;
DROP INDEX CONCURRENTLY IF EXISTS ix_validation_runs_workflow;

-- The other unique constraint identifies the rows to logical replication.
SET lock_timeout = '500ms';
ALTER TABLE idempotency_keys DROP CONSTRAINT IF EXISTS idempotency_keys_pkey,
    REPLICA IDENTITY USING INDEX uq_idempotency_org_key_endpoint;
ALTER TABLE validation_runs DROP CONSTRAINT IF EXISTS uq_validation_runs_idempotency_key;
-- Steps and findings are found by their run. Nothing asks for their ids.
ALTER TABLE step_runs DROP CONSTRAINT IF EXISTS step_runs_pkey,
    REPLICA IDENTITY USING INDEX uq_step_runs_ordinal;
ALTER TABLE findings DROP CONSTRAINT IF EXISTS findings_pkey,
    REPLICA IDENTITY USING INDEX uq_findings_ordinal;

-- +goose Down
ALTER TABLE findings ADD CONSTRAINT findings_pkey PRIMARY KEY (org_id, id), REPLICA IDENTITY DEFAULT;
ALTER TABLE step_runs ADD CONSTRAINT step_runs_pkey PRIMARY KEY (org_id, id), REPLICA IDENTITY DEFAULT;
ALTER TABLE validation_runs
    ADD CONSTRAINT uq_validation_runs_idempotency_key UNIQUE (org_id, idempotency_key_id);
ALTER TABLE idempotency_keys ADD CONSTRAINT idempotency_keys_pkey PRIMARY KEY (org_id, id), REPLICA IDENTITY DEFAULT;
CREATE INDEX CONCURRENTLY ix_validation_runs_workflow ON validation_runs (org_id, workflow_id, id);
DROP INDEX ix_validation_runs_by_workflow, uq_validation_runs_key, uq_idempotency_keys_id;
