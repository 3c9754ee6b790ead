-- How an organization wants its keys: required or optional, and remembered for how long. And reruns.

-- +goose Up
ALTER TABLE organizations
    ADD COLUMN key_required boolean NOT NULL DEFAULT false,
    -- NULL is the installation's own lifetime.
    ADD COLUMN key_lifetime interval,
    ADD CONSTRAINT ck_organizations_key_lifetime
        CHECK (key_lifetime BETWEEN interval '1 minute' AND interval '30 days');

ALTER TABLE validation_runs
    ADD COLUMN rerun_of uuid,
    ADD CONSTRAINT fk_validation_runs_rerun_of FOREIGN KEY (org_id, rerun_of) REFERENCES validation_runs (org_id, id);

-- +goose Down
ALTER TABLE validation_runs DROP COLUMN rerun_of;
ALTER TABLE organizations DROP COLUMN key_required, DROP COLUMN key_lifetime;
