-- The tables of the service on River, in a schema of their own, and the organizations of the benchmark. They hold what a
-- start needs and have no index too many. The rows that starts write do not refer to each other with foreign keys: their
-- checks read pages that other starts write to.
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
    response_status smallint,
    response_headers jsonb,
    -- The first answer, byte for byte.
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

INSERT INTO organizations (id)
SELECT ('00000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid FROM generate_series(1, 1001) AS n;
INSERT INTO tokens (digest, org_id, role)
SELECT sha256(('sv_bench-' || right(id::text, 12))::bytea), id, 'executor' FROM organizations;
INSERT INTO workflows (id, org_id, slug, version, config)
SELECT ('00000000-0000-7000-9000-' || right(id::text, 12))::uuid, id, 'meter-readings', 1,
    $1
FROM organizations;
INSERT INTO usage_counters (org_id) SELECT id FROM organizations;
-- What a service that has run for a while has: ten keys of each organization that were used before.
INSERT INTO idempotency_keys (id, org_id, key, endpoint, request_method, request_path, request_hash, user_agent,
    recovery_point, created_at, expires_at)
SELECT gen_random_uuid(), id, gen_random_uuid(), 'workflow_start', 'POST', '/', '', 'expired', 'finished', now(), now()
FROM organizations, generate_series(1, 10);
