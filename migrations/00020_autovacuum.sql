-- When the tables that every start writes are vacuumed and analyzed. The defaults wait for a fifth of a table to
-- change, which for millions of rows is hours of work at once.

-- +goose Up
-- Old keys are purged as fast as new ones come: the space must be free again before the table has to grow. And the end
-- of the table is not given back, because that takes a lock that starts would wait for, and because plans that are made
-- for a table without a page are bad ones when it fills up again.
ALTER TABLE idempotency_keys SET (
    autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02, vacuum_truncate = off);

-- The outbox is empty most of the time and its rows live for milliseconds, so a share of its size says nothing.
ALTER TABLE staged_jobs SET (
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, vacuum_truncate = off);

-- Few rows with a new version at every commit.
ALTER TABLE usage_counters SET (
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, vacuum_truncate = off);

-- +goose Down
ALTER TABLE idempotency_keys RESET (
    autovacuum_vacuum_scale_factor, autovacuum_analyze_scale_factor, vacuum_truncate);
ALTER TABLE staged_jobs RESET (autovacuum_vacuum_scale_factor, autovacuum_vacuum_threshold, vacuum_truncate);
ALTER TABLE usage_counters RESET (autovacuum_vacuum_scale_factor, autovacuum_vacuum_threshold, vacuum_truncate);
