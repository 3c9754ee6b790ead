-- Organizations, their members and tokens, and the usage counters that hold their quotas.

-- +goose Up
CREATE TABLE organizations (
    id          uuid        NOT NULL,
    slug        text        NOT NULL,
    name        text        NOT NULL,
    -- Runs a month; NULL is unlimited. A period's counter copies it when the period begins.
    run_quota   bigint,
    created_at  timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT organizations_pkey PRIMARY KEY (id),
    CONSTRAINT uq_organizations_slug UNIQUE (slug),
    CONSTRAINT ck_organizations_slug CHECK (slug ~ '^[a-z0-9][a-z0-9-]{0,62}$'),
    CONSTRAINT ck_organizations_run_quota CHECK (run_quota >= 0)
);

CREATE TABLE users (
    id            uuid        NOT NULL,
    email         text        NOT NULL,
    name          text        NOT NULL DEFAULT '',
    -- argon2id; empty means that the user cannot sign in with a password.
    password_hash text        NOT NULL DEFAULT '',
    created_at    timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT users_pkey PRIMARY KEY (id),
    CONSTRAINT uq_users_email UNIQUE (email),
    CONSTRAINT ck_users_email CHECK (email = lower(email) AND email LIKE '%_@_%')
);

CREATE TABLE memberships (
    org_id     uuid        NOT NULL,
    user_id    uuid        NOT NULL,
    role       text        NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT memberships_pkey PRIMARY KEY (org_id, user_id),
    CONSTRAINT fk_memberships_org FOREIGN KEY (org_id) REFERENCES organizations (id) ON DELETE CASCADE,
    CONSTRAINT fk_memberships_user FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE,
    CONSTRAINT ck_memberships_role CHECK (role IN ('owner', 'admin', 'author', 'executor', 'viewer'))
);

-- A token outlives the membership on purpose: the request is then refused as "no longer a member",
-- and an invitation back makes the token work again.
CREATE TABLE api_tokens (
    org_id       uuid        NOT NULL,
    id           uuid        NOT NULL,
    user_id      uuid        NOT NULL,
    -- SHA-256 of the secret; the secret itself is shown once and kept nowhere.
    digest       bytea       NOT NULL,
    prefix       text        NOT NULL,
    label        text        NOT NULL,
    -- The most the token may do; the membership's role caps it further.
    role         text        NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT now(),
    expires_at   timestamptz,
    revoked_at   timestamptz,
    last_used_at timestamptz,
    CONSTRAINT api_tokens_pkey PRIMARY KEY (org_id, id),
    CONSTRAINT uq_api_tokens_digest UNIQUE (digest),
    CONSTRAINT fk_api_tokens_org FOREIGN KEY (org_id) REFERENCES organizations (id) ON DELETE CASCADE,
    CONSTRAINT fk_api_tokens_user FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE,
    CONSTRAINT ck_api_tokens_digest CHECK (octet_length(digest) = 32),
    CONSTRAINT ck_api_tokens_role CHECK (role IN ('owner', 'admin', 'author', 'executor', 'viewer'))
);

-- One row per organization, metric and period. The row is the lock that orders an organization's
-- starts, so it is updated often: the low fillfactor keeps those updates inside the page (HOT).
CREATE TABLE usage_counters (
    org_id       uuid        NOT NULL,
    metric       text        NOT NULL,
    period_start date        NOT NULL,
    used         bigint      NOT NULL DEFAULT 0,
    -- NULL is unlimited.
    quota        bigint,
    CONSTRAINT usage_counters_pkey PRIMARY KEY (org_id, metric, period_start),
    CONSTRAINT fk_usage_counters_org FOREIGN KEY (org_id) REFERENCES organizations (id) ON DELETE CASCADE,
    CONSTRAINT ck_usage_counters_used CHECK (used >= 0),
    CONSTRAINT ck_usage_counters_within_quota CHECK (used <= quota),
    CONSTRAINT ck_usage_counters_period CHECK (period_start = date_trunc('month', period_start))
) WITH (fillfactor = 50);

CREATE TABLE audit_records (
    org_id      uuid        NOT NULL,
    id          uuid        NOT NULL,
    -- Plain columns: a record outlives its actor and its target.
    actor_id    uuid,
    token_id    uuid,
    action      text        NOT NULL,
    target_type text        NOT NULL,
    target_id   text        NOT NULL,
    request_id  text        NOT NULL DEFAULT '',
    detail      text        NOT NULL DEFAULT '',
    created_at  timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT audit_records_pkey PRIMARY KEY (org_id, id)
);

-- +goose Down
DROP TABLE audit_records, usage_counters, api_tokens, memberships, users, organizations;
