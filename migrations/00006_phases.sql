-- Requests of several phases: keys that the completer brings to their end, and overage billing.

-- +goose Up
ALTER TABLE idempotency_keys
    -- How often the completer has tried, when it tries again, and why the last try failed.
    ADD COLUMN attempts integer NOT NULL DEFAULT 0,
    ADD COLUMN retry_at timestamptz,
    ADD COLUMN last_error text NOT NULL DEFAULT '',
    ADD CONSTRAINT ck_idempotency_keys_attempts CHECK (attempts >= 0 AND epoch >= 1);

-- Only unfinished keys are in it, so an ordinary start does not touch it.
CREATE INDEX ix_idempotency_keys_unfinished ON idempotency_keys (locked_until) WHERE recovery_point <> 'finished';

-- Whether runs beyond the quota may be started, each charged through the billing service. The operator sets it.
ALTER TABLE organizations ADD COLUMN overage_billing boolean NOT NULL DEFAULT false;

-- A reserved run is held back until its charge is recorded: it counts under no metric, and the sweeper leaves it alone.
ALTER TABLE validation_runs ADD CONSTRAINT ck_validation_runs_reserved
    CHECK (usage_metric <> '' OR sweep_after = 'infinity' OR result = 'CANCELED');

-- +goose Down
ALTER TABLE validation_runs DROP CONSTRAINT ck_validation_runs_reserved;
ALTER TABLE organizations DROP COLUMN overage_billing;
DROP INDEX ix_idempotency_keys_unfinished;
ALTER TABLE idempotency_keys DROP COLUMN attempts, DROP COLUMN retry_at, DROP COLUMN last_error;
