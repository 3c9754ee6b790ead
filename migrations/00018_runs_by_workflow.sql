-- The newest runs of a workflow, for its pages and for lists of its runs.

-- +goose NO TRANSACTION
-- +goose Up
-- Building waits for all transactions that are older, and holds up nobody meanwhile.
SET lock_timeout = 0;
DROP INDEX CONCURRENTLY IF EXISTS ix_validation_runs_workflow;
CREATE INDEX CONCURRENTLY ix_validation_runs_workflow ON validation_runs (org_id, workflow_id, id);

-- +goose Down
DROP INDEX ix_validation_runs_workflow;
