-- The next organization that has staged jobs, its oldest ones, and whether a run's job is staged. The ids of subjects
-- grow with time.

-- +goose NO TRANSACTION
-- +goose Up
SET lock_timeout = 0;
DROP INDEX CONCURRENTLY IF EXISTS ix_staged_jobs_subject;
CREATE INDEX CONCURRENTLY ix_staged_jobs_subject ON staged_jobs (org_id, subject_id);

-- +goose Down
DROP INDEX ix_staged_jobs_subject;
