-- Ways to sign in besides the password, and ways back for those who have lost it.

-- +goose Up
-- When the user of a session has last shown who it is, by the sign-in or later. NULL in sessions that began before.
ALTER TABLE sessions ADD COLUMN proved_at timestamptz;
ALTER TABLE sessions ALTER COLUMN proved_at SET DEFAULT now();

-- Links that set a new password. A user has at most one that was given by an administrator or the operator, and one
-- that was asked for and mailed, so that nobody can end a link of the first kind by asking for one of the second.
CREATE TABLE password_links (
    user_id    uuid        NOT NULL,
    origin     text        NOT NULL,
    -- SHA-256 of the link's secret, which is kept nowhere.
    digest     bytea       NOT NULL,
    -- The administrator who answers for the link. It is void once that member does not administer all organizations of
    -- the user. NULL for the operator, and for a link that was mailed.
    made_by    uuid,
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL,
    CONSTRAINT password_links_pkey PRIMARY KEY (user_id, origin),
    CONSTRAINT uq_password_links_digest UNIQUE (digest),
    CONSTRAINT fk_password_links_user FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE,
    CONSTRAINT ck_password_links_origin CHECK (origin IN ('given', 'mailed')),
    CONSTRAINT ck_password_links_digest CHECK (octet_length(digest) = 32),
    CONSTRAINT ck_password_links_made_by CHECK (origin = 'given' OR made_by IS NULL)
);

-- Secrets of authenticator apps (RFC 6238), encrypted like signing keys.
CREATE TABLE second_factors (
    user_id      uuid        NOT NULL,
    sealed       bytea       NOT NULL,
    -- NULL until the user has shown a code of it. Until then it asks nobody for a code.
    confirmed_at timestamptz,
    -- The 30 seconds whose code was accepted last. Codes of those and of earlier ones are refused.
    last_step    bigint      NOT NULL DEFAULT 0,
    -- Wrong codes since the last right one.
    failures     integer     NOT NULL DEFAULT 0,
    failed_at    timestamptz,
    -- SHA-256 of the recovery codes that were not used yet.
    recovery     bytea[]     NOT NULL DEFAULT '{}',
    created_at   timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT second_factors_pkey PRIMARY KEY (user_id),
    CONSTRAINT fk_second_factors_user FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE,
    -- A secret of 20 bytes behind the key's name and a nonce, with a tag: no row holds it in clear.
    CONSTRAINT ck_second_factors_sealed CHECK (octet_length(sealed) = 56),
    CONSTRAINT ck_second_factors_recovery CHECK (cardinality(recovery) <= 10)
);

-- Accounts at the provider of OpenID Connect, by what never changes there.
CREATE TABLE identities (
    issuer     text        NOT NULL,
    subject    text        NOT NULL,
    user_id    uuid        NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT identities_pkey PRIMARY KEY (issuer, subject),
    CONSTRAINT fk_identities_user FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE
);
CREATE INDEX ix_identities_user_id ON identities (user_id);

-- Sign-ins that wait for their second step, each bound to a cookie of one browser.
CREATE TABLE sign_in_steps (
    -- SHA-256 of the cookie.
    digest     bytea       NOT NULL,
    -- code: the password was right. sign_in and prove: the browser was sent to the provider.
    purpose    text        NOT NULL,
    -- NULL as long as nobody knows who it is.
    user_id    uuid,
    next       text        NOT NULL,
    expires_at timestamptz NOT NULL DEFAULT now() + interval '10 minutes',
    CONSTRAINT sign_in_steps_pkey PRIMARY KEY (digest),
    CONSTRAINT fk_sign_in_steps_user FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE,
    CONSTRAINT ck_sign_in_steps_purpose CHECK (purpose IN ('code', 'sign_in', 'prove')),
    CONSTRAINT ck_sign_in_steps_user CHECK ((purpose = 'sign_in') = (user_id IS NULL))
);
CREATE INDEX ix_sign_in_steps_user_id ON sign_in_steps (user_id);

-- Letters that wait to be sent. They hold links, so their texts are encrypted, and a letter goes when it was sent.
CREATE TABLE mails (
    id         uuid        NOT NULL,
    kind       text        NOT NULL,
    recipient  text        NOT NULL,
    -- NULL for a letter that is written when it is sent.
    sealed     bytea,
    attempts   integer     NOT NULL DEFAULT 0,
    due_at     timestamptz NOT NULL DEFAULT now() + interval '1 minute',
    last_error text        NOT NULL DEFAULT '',
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT mails_pkey PRIMARY KEY (id),
    CONSTRAINT ck_mails_kind CHECK (kind IN ('invitation', 'password', 'forgotten')),
    CONSTRAINT ck_mails_sealed CHECK ((sealed IS NULL) = (kind = 'forgotten'))
);
CREATE INDEX ix_mails_due_at ON mails (due_at);

-- +goose Down
DROP TABLE mails, sign_in_steps, identities, second_factors, password_links;
ALTER TABLE sessions DROP COLUMN proved_at;
