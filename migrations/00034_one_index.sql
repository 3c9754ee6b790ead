-- One index for each way to find a row, so that no plan depends on statistics.
--
-- To the planner of a table without statistics, all indexes that begin with the organization cost the same, and it may
-- take one that leads to everything the organization has. A partial index is considered only for statements that meet
-- its condition. Conditions such as "id IS NOT NULL" hold for every row, and follow from any comparison of the column.

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

-- +goose Down
CREATE INDEX CONCURRENTLY ix_validation_runs_workflow ON validation_runs (org_id, workflow_id, id);
DROP INDEX ix_validation_runs_by_workflow, uq_validation_runs_key, uq_idempotency_keys_id;
