-- The newest runs of a workflow, for its pages and for lists of its runs.

-- +goose Up
CREATE INDEX ix_validation_runs_workflow ON validation_runs (org_id, workflow_id, id);

-- +goose Down
DROP INDEX ix_validation_runs_workflow;
