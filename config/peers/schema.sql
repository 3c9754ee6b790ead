-- The tables of both programs, in a schema of their own. They hold what a start needs and have no index too many. The
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
    version integer NOT NULL
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
    created_at timestamptz NOT NULL
);

CREATE TABLE staged_jobs (
    id bigserial PRIMARY KEY,
    name text NOT NULL,
    args jsonb NOT NULL
);
