-- Submissions, runs, step runs and findings.

-- +goose Up
CREATE TABLE submissions (
    org_id            uuid        NOT NULL,
    id                uuid        NOT NULL,
    media_type        text        NOT NULL,
    filename          text        NOT NULL DEFAULT '',
    name              text        NOT NULL DEFAULT '',
    short_description text        NOT NULL DEFAULT '',
    -- The client's JSON object as it was sent; '' when there was none.
    metadata          text        NOT NULL DEFAULT '',
    size              bigint      NOT NULL,
    sha256            bytea       NOT NULL,
    -- NULL after retention has removed the content; size and digest stay.
    content           bytea,
    created_at        timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT submissions_pkey PRIMARY KEY (org_id, id),
    CONSTRAINT ck_submissions_size CHECK (size >= 0 AND (content IS NULL OR octet_length(content) = size)),
    CONSTRAINT ck_submissions_sha256 CHECK (octet_length(sha256) = 32)
);

CREATE TABLE validation_runs (
    org_id             uuid        NOT NULL,
    id                 uuid        NOT NULL,
    workflow_id        uuid        NOT NULL,
    workflow_version   integer     NOT NULL,
    -- Copies: a run must be read and executed as it was started, whatever the workflow becomes.
    workflow_slug      text        NOT NULL,
    definition_digest  bytea       NOT NULL,
    submission_id      uuid        NOT NULL,
    source             text        NOT NULL,
    state              text        NOT NULL DEFAULT 'PENDING',
    result             text        NOT NULL DEFAULT 'UNKNOWN',
    error              text        NOT NULL DEFAULT '',
    error_category     text        NOT NULL DEFAULT '',
    error_count        bigint      NOT NULL DEFAULT 0,
    warning_count      bigint      NOT NULL DEFAULT 0,
    info_count         bigint      NOT NULL DEFAULT 0,
    -- How many steps are done; execution resumes behind them.
    recovery_point     integer     NOT NULL DEFAULT 0,
    -- The fence: every holder of the lease writes under the epoch that its own acquisition made.
    epoch              integer     NOT NULL DEFAULT 1,
    lease_until        timestamptz,
    attempts           integer     NOT NULL DEFAULT 0,
    -- When the sweeper looks at the run again if nothing has moved it; NULL once it is completed.
    sweep_after        timestamptz,
    sweeps             integer     NOT NULL DEFAULT 0,
    usage_metric       text        NOT NULL,
    usage_period       date        NOT NULL,
    idempotency_key    text        NOT NULL DEFAULT '',
    idempotency_key_id uuid,
    request_id         text        NOT NULL,
    created_by         uuid,
    created_at         timestamptz NOT NULL DEFAULT now(),
    started_at         timestamptz,
    ended_at           timestamptz,
    CONSTRAINT validation_runs_pkey PRIMARY KEY (org_id, id),
    -- One run per use of a key, also after the key itself has been purged.
    CONSTRAINT uq_validation_runs_idempotency_key UNIQUE (org_id, idempotency_key_id),
    CONSTRAINT fk_validation_runs_submission FOREIGN KEY (org_id, submission_id) REFERENCES submissions (org_id, id),
    CONSTRAINT fk_validation_runs_workflow_version FOREIGN KEY (org_id, workflow_id, workflow_version)
        REFERENCES workflow_versions (org_id, workflow_id, number),
    CONSTRAINT ck_validation_runs_source CHECK (source IN ('API', 'DASHBOARD', 'CLI')),
    CONSTRAINT ck_validation_runs_state CHECK (state IN ('PENDING', 'RUNNING', 'COMPLETED')),
    CONSTRAINT ck_validation_runs_result
        CHECK (result IN ('UNKNOWN', 'PASS', 'FAIL', 'ERROR', 'CANCELED', 'TIMED_OUT')),
    CONSTRAINT ck_validation_runs_error_category
        CHECK (error_category IN ('', 'VALIDATION_FAILED', 'TIMEOUT', 'RUNTIME_ERROR', 'SYSTEM_ERROR')),
    CONSTRAINT ck_validation_runs_completed CHECK (
        (state = 'COMPLETED') = (ended_at IS NOT NULL)
        AND (state = 'COMPLETED') = (result <> 'UNKNOWN')
        AND (state = 'COMPLETED') = (sweep_after IS NULL)),
    CONSTRAINT ck_validation_runs_lease CHECK (lease_until IS NULL OR state = 'RUNNING'),
    CONSTRAINT ck_validation_runs_progress CHECK (recovery_point >= 0 AND epoch >= 1 AND attempts >= 0)
) WITH (fillfactor = 80);

-- The sweeper's only question: what should have moved by now? Completed runs are not in it.
CREATE INDEX ix_validation_runs_sweep ON validation_runs (sweep_after) WHERE sweep_after IS NOT NULL;

-- Terminal states are final and epochs and recovery points only grow, whoever writes.
-- +goose StatementBegin
CREATE FUNCTION guard_run_progress() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.state = 'COMPLETED' AND (NEW.state, NEW.result) IS DISTINCT FROM (OLD.state, OLD.result) THEN
        RAISE EXCEPTION 'run % is completed', OLD.id
            USING ERRCODE = 'check_violation', CONSTRAINT = 'tr_validation_runs_progress';
    END IF;
    IF NEW.epoch < OLD.epoch OR NEW.recovery_point < OLD.recovery_point THEN
        RAISE EXCEPTION 'run % cannot go back', OLD.id
            USING ERRCODE = 'check_violation', CONSTRAINT = 'tr_validation_runs_progress';
    END IF;
    RETURN NEW;
END $$;
-- +goose StatementEnd
CREATE TRIGGER tr_validation_runs_progress BEFORE UPDATE ON validation_runs
    FOR EACH ROW EXECUTE FUNCTION guard_run_progress();

CREATE TABLE step_runs (
    org_id        uuid        NOT NULL,
    id            uuid        NOT NULL,
    run_id        uuid        NOT NULL,
    ordinal       integer     NOT NULL,
    step_id       text        NOT NULL,
    name          text        NOT NULL,
    status        text        NOT NULL,
    error         text        NOT NULL DEFAULT '',
    error_count   bigint      NOT NULL DEFAULT 0,
    warning_count bigint      NOT NULL DEFAULT 0,
    info_count    bigint      NOT NULL DEFAULT 0,
    -- True when the step found more than was kept.
    truncated     boolean     NOT NULL DEFAULT false,
    started_at    timestamptz NOT NULL,
    ended_at      timestamptz NOT NULL,
    CONSTRAINT step_runs_pkey PRIMARY KEY (org_id, id),
    CONSTRAINT uq_step_runs_ordinal UNIQUE (org_id, run_id, ordinal),
    CONSTRAINT fk_step_runs_run FOREIGN KEY (org_id, run_id) REFERENCES validation_runs (org_id, id) ON DELETE CASCADE,
    CONSTRAINT ck_step_runs_status CHECK (status IN ('PASSED', 'FAILED', 'SKIPPED'))
);

CREATE TABLE findings (
    org_id       uuid    NOT NULL,
    id           uuid    NOT NULL,
    run_id       uuid    NOT NULL,
    step_ordinal integer NOT NULL,
    ordinal      integer NOT NULL,
    severity     text    NOT NULL,
    code         text    NOT NULL,
    message      text    NOT NULL,
    path         text    NOT NULL DEFAULT '',
    line         integer NOT NULL DEFAULT 0,
    "column"     integer NOT NULL DEFAULT 0,
    "row"        integer NOT NULL DEFAULT 0,
    excerpt      text    NOT NULL DEFAULT '',
    count        integer NOT NULL DEFAULT 1,
    sample_rows  integer[] NOT NULL DEFAULT '{}',
    assertion_id text    NOT NULL DEFAULT '',
    truncated    boolean NOT NULL DEFAULT false,
    CONSTRAINT findings_pkey PRIMARY KEY (org_id, id),
    CONSTRAINT uq_findings_ordinal UNIQUE (org_id, run_id, step_ordinal, ordinal),
    CONSTRAINT fk_findings_step FOREIGN KEY (org_id, run_id, step_ordinal)
        REFERENCES step_runs (org_id, run_id, ordinal) ON DELETE CASCADE,
    CONSTRAINT ck_findings_severity CHECK (severity IN ('ERROR', 'WARNING', 'INFO'))
);

-- +goose Down
DROP TABLE findings, step_runs, validation_runs, submissions;
DROP FUNCTION guard_run_progress;
