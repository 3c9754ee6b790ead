-- The tables of the programs, in a schema of their own. They hold what a start needs and have no index too many. The
-- rows that starts write do not refer to each other with foreign keys: their checks read pages that other starts write
-- to, on which SERIALIZABLE transactions abort each other.
CREATE TABLE organizations (
    id uuid PRIMARY KEY
);

CREATE TABLE tokens (
    digest bytea PRIMARY KEY,
    org_id uuid NOT NULL REFERENCES organizations,
    role text NOT NULL
);

CREATE TABLE workflows (
    id uuid PRIMARY KEY,
    org_id uuid NOT NULL REFERENCES organizations,
    slug text NOT NULL,
    version integer NOT NULL,
    -- What its one step checks.
    config text NOT NULL
);

CREATE TABLE usage_counters (
    id bigserial PRIMARY KEY,
    org_id uuid NOT NULL UNIQUE,
    used bigint NOT NULL DEFAULT 0 CHECK (used >= 0),
    quota bigint
) WITH (fillfactor = 50);

CREATE TABLE idempotency_keys (
    id uuid PRIMARY KEY,
    org_id uuid NOT NULL,
    key text NOT NULL CHECK (length(key) <= 255),
    endpoint text NOT NULL,
    request_method text NOT NULL,
    request_path text NOT NULL,
    request_hash text NOT NULL,
    request_ip inet,
    user_agent text NOT NULL,
    recovery_point text NOT NULL,
    locked_at timestamptz,
    response_status smallint,
    response_headers jsonb,
    response_body jsonb,
    -- Programs that return the first answer byte for byte store it here.
    response_text bytea,
    validation_run_id uuid,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    UNIQUE (org_id, key, endpoint)
) WITH (fillfactor = 50);

CREATE INDEX ON idempotency_keys (expires_at);

CREATE TABLE submissions (
    id bigserial PRIMARY KEY,
    org_id uuid NOT NULL,
    media_type text NOT NULL,
    filename text NOT NULL,
    size bigint NOT NULL,
    sha256 text NOT NULL,
    content bytea NOT NULL
);

CREATE TABLE validation_runs (
    id uuid PRIMARY KEY,
    org_id uuid NOT NULL,
    workflow_id uuid NOT NULL REFERENCES workflows,
    workflow_version integer NOT NULL,
    submission_id bigint NOT NULL,
    idempotency_key_id uuid UNIQUE,
    source text NOT NULL,
    state text NOT NULL,
    result text,
    created_at timestamptz NOT NULL,
    ended_at timestamptz
);

CREATE TABLE step_runs (
    run_id uuid NOT NULL,
    ordinal integer NOT NULL,
    error_count bigint NOT NULL,
    warning_count bigint NOT NULL,
    started_at timestamptz NOT NULL,
    ended_at timestamptz NOT NULL,
    PRIMARY KEY (run_id, ordinal)
);

CREATE TABLE findings (
    run_id uuid NOT NULL,
    ordinal integer NOT NULL,
    severity text NOT NULL,
    code text NOT NULL,
    message text NOT NULL,
    PRIMARY KEY (run_id, ordinal)
);

CREATE TABLE staged_jobs (
    id bigserial PRIMARY KEY,
    name text NOT NULL,
    args jsonb NOT NULL
);
