-- How long documents and findings are kept, and what a completed run may say of whose fault it was.

-- +goose Up
ALTER TABLE organizations
    -- NULL is the installation's own period, and 0 is for ever.
    ADD COLUMN content_retention interval,
    ADD COLUMN findings_retention interval,
    ADD CONSTRAINT ck_organizations_retention CHECK (
        (content_retention = interval '0' OR content_retention BETWEEN interval '1 hour' AND interval '36500 days')
        AND (findings_retention = interval '0'
            OR findings_retention BETWEEN interval '1 hour' AND interval '36500 days'));

ALTER TABLE validation_runs
    -- When retention has removed the run's document and its findings; the counts stay.
    ADD COLUMN content_purged_at timestamptz,
    ADD COLUMN findings_purged_at timestamptz,
    ADD CONSTRAINT ck_validation_runs_purged
        CHECK (state = 'COMPLETED' OR (content_purged_at IS NULL AND findings_purged_at IS NULL)),
    -- Only what was found in the document fails a run, and nothing that was found is passed over.
    ADD CONSTRAINT ck_validation_runs_verdict CHECK (CASE result
        WHEN 'PASS' THEN error_category = '' AND error_count = 0
        WHEN 'FAIL' THEN error_category = 'VALIDATION_FAILED' AND error_count > 0
        WHEN 'ERROR' THEN error_category IN ('RUNTIME_ERROR', 'SYSTEM_ERROR')
        WHEN 'TIMED_OUT' THEN error_category = 'TIMEOUT'
        ELSE error_category = '' END);

-- What the purge asks. A submission belongs to one first run, which leads to the reruns that share it.
CREATE INDEX ix_validation_runs_content ON validation_runs (org_id, ended_at)
    WHERE state = 'COMPLETED' AND content_purged_at IS NULL AND rerun_of IS NULL;
CREATE INDEX ix_validation_runs_findings ON validation_runs (org_id, ended_at)
    WHERE state = 'COMPLETED' AND findings_purged_at IS NULL;
CREATE INDEX ix_validation_runs_reruns ON validation_runs (org_id, submission_id) WHERE rerun_of IS NOT NULL;

-- +goose Down
DROP INDEX ix_validation_runs_content, ix_validation_runs_findings, ix_validation_runs_reruns;
ALTER TABLE validation_runs
    DROP CONSTRAINT ck_validation_runs_purged, DROP CONSTRAINT ck_validation_runs_verdict,
    DROP COLUMN content_purged_at, DROP COLUMN findings_purged_at;
ALTER TABLE organizations DROP COLUMN content_retention, DROP COLUMN findings_retention;
