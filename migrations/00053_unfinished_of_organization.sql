-- The unfinished runs and keys of one organization, newest first. Nothing but these indexes leads from the expressions
-- to a row, so the planner has no other way, whatever the statistics say.

-- +goose NO TRANSACTION
-- +goose Up
SET lock_timeout = 0;
DROP INDEX CONCURRENTLY IF EXISTS ix_validation_runs_unfinished;
CREATE INDEX CONCURRENTLY ix_validation_runs_unfinished
    ON validation_runs ((CASE WHEN sweep_after IS NOT NULL THEN org_id END), id)
    WHERE (CASE WHEN sweep_after IS NOT NULL THEN org_id END) IS NOT NULL;
DROP INDEX CONCURRENTLY IF EXISTS ix_idempotency_keys_unfinished_id;
CREATE INDEX CONCURRENTLY ix_idempotency_keys_unfinished_id
    ON idempotency_keys ((CASE WHEN recovery_point <> 'finished' THEN org_id END), id)
    WHERE (CASE WHEN recovery_point <> 'finished' THEN org_id END) IS NOT NULL;

-- +goose Down
DROP INDEX ix_idempotency_keys_unfinished_id, ix_validation_runs_unfinished;
