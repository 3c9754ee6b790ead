-- The requests of an organization that may change something, as people look at them afterwards: also those that were
-- refused. They are kept in memory and written in batches, so no request writes here itself, and what a crash loses is
-- the requests of about a second.

-- +goose Up
CREATE TABLE request_log (
    org_id      uuid        NOT NULL,
    -- A UUIDv7 of the time below.
    id          uuid        NOT NULL,
    -- When the headers had arrived, by the database's clock.
    at          timestamptz NOT NULL,
    took_us     bigint      NOT NULL,
    method      text        NOT NULL,
    -- Without the query, which may hold secrets.
    path        text        NOT NULL,
    -- The operation that keys of this request belong to; empty where it takes none.
    endpoint    text        NOT NULL DEFAULT '',
    status      smallint    NOT NULL,
    -- Of the problem; empty where the request was not refused.
    code        text        NOT NULL DEFAULT '',
    key         text        NOT NULL DEFAULT '',
    -- NULL for a visitor of the dashboard.
    token_id    uuid,
    address     inet,
    request_id  text        NOT NULL,
    -- The first request of the key, where this one repeats it.
    original_request_id text NOT NULL DEFAULT '',
    replayed    boolean     NOT NULL DEFAULT false,
    run_id      uuid,
    -- Pairs of names and values as JSON, which only the service reads. Of headers that may hold secrets there are no
    -- values.
    headers     text        NOT NULL,
    -- What was read of the body, and its SHA-256 where all of a body that is not large was read.
    body_size   bigint      NOT NULL,
    body_digest bytea,
    -- The problem document as JSON.
    problem     text,
    CONSTRAINT request_log_pkey PRIMARY KEY (org_id, id),
    CONSTRAINT ck_request_log_status CHECK (status BETWEEN 100 AND 599),
    CONSTRAINT ck_request_log_sizes CHECK (body_size >= 0 AND took_us >= 0)
);

-- The filters of the list, each in the order of the list. Requests without a key, run, token or refusal are in none.
-- They do not begin with the organization, so that the primary key is no choice for their row comparisons.
CREATE INDEX ix_request_log_key ON request_log (key, org_id, id) WHERE key <> '';
CREATE INDEX ix_request_log_run ON request_log (run_id, org_id, id) WHERE run_id IS NOT NULL;
CREATE INDEX ix_request_log_token ON request_log (token_id, org_id, id) WHERE token_id IS NOT NULL;
CREATE INDEX ix_request_log_code ON request_log (code, org_id, id) WHERE code <> '';
CREATE INDEX ix_request_log_refused ON request_log ((status / 100), org_id, id) WHERE status >= 400;

-- How many requests were refused for what reason, day by day. Requests that the log has no room for are counted, too.
CREATE TABLE refusal_days (
    org_id uuid   NOT NULL,
    -- By the database's clock when it was written, in UTC.
    day    date   NOT NULL,
    code   text   NOT NULL,
    -- Requests that would have started a run, and all others.
    starts bigint NOT NULL DEFAULT 0,
    others bigint NOT NULL DEFAULT 0,
    CONSTRAINT refusal_days_pkey PRIMARY KEY (org_id, day, code),
    CONSTRAINT ck_refusal_days_counts CHECK (starts >= 0 AND others >= 0)
);

-- +goose Down
DROP TABLE refusal_days;
DROP TABLE request_log;
