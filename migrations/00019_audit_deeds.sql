-- The audit log without the starts of runs, which are nearly all of it. Starts do not touch the index.

-- +goose NO TRANSACTION
-- +goose Up
SET lock_timeout = 0;
DROP INDEX CONCURRENTLY IF EXISTS ix_audit_records_deeds;
CREATE INDEX CONCURRENTLY ix_audit_records_deeds ON audit_records (org_id, id) WHERE action <> 'run.start';

-- +goose Down
DROP INDEX ix_audit_records_deeds;
