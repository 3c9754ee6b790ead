-- The audit log without the starts of runs, which are nearly all of it. Starts do not touch the index.

-- +goose Up
CREATE INDEX ix_audit_records_deeds ON audit_records (org_id, id) WHERE action <> 'run.start';

-- +goose Down
DROP INDEX ix_audit_records_deeds;
