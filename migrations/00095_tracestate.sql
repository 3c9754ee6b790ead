-- What other tracing systems have said about a trace belongs to it wherever it continues.

-- +goose Up
ALTER TABLE validation_runs
    -- The W3C tracestate beside traceparent; NULL where there is none.
    ADD COLUMN tracestate text,
    ADD CONSTRAINT ck_validation_runs_tracestate CHECK (octet_length(tracestate) BETWEEN 1 AND 512) NOT VALID;

-- +goose Down
ALTER TABLE validation_runs DROP CONSTRAINT ck_validation_runs_tracestate, DROP COLUMN tracestate;
