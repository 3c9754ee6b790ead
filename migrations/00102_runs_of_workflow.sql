-- The runs of one workflow by their ids alone. With the organization in front, a statement would have to leave the
-- workflow open, so that the planner does not take the primary key for as good a way, and then passed over all its runs
-- before the first one and behind the last one that it wants (docs/adr/0013-plans-without-statistics.md).
--
-- The previous release finds the runs of a workflow among all runs of the organization until it is gone.

-- +goose NO TRANSACTION
-- +goose Up
-- Building waits for all transactions that are older, and holds up nobody meanwhile.
SET lock_timeout = 0;
DROP INDEX CONCURRENTLY IF EXISTS ix_validation_runs_workflow;
CREATE INDEX CONCURRENTLY ix_validation_runs_workflow ON validation_runs (workflow_id, id)
    WHERE workflow_id IS NOT NULL;
DROP INDEX CONCURRENTLY IF EXISTS ix_validation_runs_by_workflow;

-- +goose Down
CREATE INDEX CONCURRENTLY ix_validation_runs_by_workflow ON validation_runs (org_id, workflow_id, id)
    WHERE workflow_id IS NOT NULL;
DROP INDEX ix_validation_runs_workflow;
