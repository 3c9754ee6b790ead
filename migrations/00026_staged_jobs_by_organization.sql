-- The due jobs of one organization, oldest first, and the next organization that has any. Jobs live for milliseconds,
-- so the table has few rows to build the index from.

-- +goose NO TRANSACTION
-- +goose Up
SET lock_timeout = 0;
DROP INDEX CONCURRENTLY IF EXISTS ix_staged_jobs_org;
CREATE INDEX CONCURRENTLY ix_staged_jobs_org ON staged_jobs (org_id, due_at, id);

-- +goose Down
DROP INDEX ix_staged_jobs_org;
