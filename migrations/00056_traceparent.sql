-- A run is executed by another process than the one that was asked for it, maybe much later. Both are parts of one
-- trace, if the request was one.

-- +goose Up
ALTER TABLE validation_runs
    -- The span of the start as W3C traceparent, with the caller's sampling flag; NULL where nothing is traced.
    ADD COLUMN traceparent text,
    ADD CONSTRAINT ck_validation_runs_traceparent CHECK (octet_length(traceparent) = 55) NOT VALID;

-- +goose Down
ALTER TABLE validation_runs DROP CONSTRAINT ck_validation_runs_traceparent, DROP COLUMN traceparent;
