-- Sessions of the dashboard, and users who run the installation.

-- +goose Up
ALTER TABLE users ADD COLUMN is_operator boolean NOT NULL DEFAULT false;

-- Only a digest of the cookie is kept: who reads the table can sign in as nobody.
CREATE TABLE sessions (
    digest     bytea       NOT NULL,
    user_id    uuid        NOT NULL,
    user_agent text        NOT NULL DEFAULT '',
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL,
    CONSTRAINT sessions_pkey PRIMARY KEY (digest),
    CONSTRAINT fk_sessions_user FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE,
    CONSTRAINT ck_sessions_digest CHECK (length(digest) = 32),
    CONSTRAINT ck_sessions_user_agent CHECK (length(user_agent) <= 300),
    -- However busy, a session ends after a week.
    CONSTRAINT ck_sessions_expires_at CHECK (expires_at <= created_at + interval '7 days')
);
CREATE INDEX ix_sessions_user_id ON sessions (user_id);
CREATE INDEX ix_sessions_expires_at ON sessions (expires_at);

-- +goose Down
DROP TABLE sessions;
ALTER TABLE users DROP COLUMN is_operator;
