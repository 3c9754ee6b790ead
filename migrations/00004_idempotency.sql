-- Idempotency keys: what a key was used for, and the response it is answered with from then on.

-- +goose Up
CREATE TABLE idempotency_keys (
    org_id              uuid         NOT NULL,
    id                  uuid         NOT NULL,
    key                 varchar(255) NOT NULL,
    endpoint            varchar(100) NOT NULL,
    request_method      text         NOT NULL,
    request_path        text         NOT NULL,
    -- SHA-256 over the request's meaning, and over its parts so that a mismatch can say what differs.
    fingerprint_version smallint     NOT NULL,
    request_hash        bytea        NOT NULL,
    target_digest       bytea        NOT NULL,
    content_digest      bytea        NOT NULL,
    options_digest      bytea        NOT NULL,
    request_id          text         NOT NULL,
    request_ip          inet,
    user_agent          varchar(500) NOT NULL DEFAULT '',
    response_status     smallint,
    response_headers    json,
    -- Byte for byte, so that a replay cannot differ from the first answer.
    response_body       bytea,
    validation_run_id   uuid,
    recovery_point      varchar(50)  NOT NULL,
    locked_until        timestamptz,
    epoch               integer      NOT NULL DEFAULT 1,
    created_at          timestamptz  NOT NULL,
    expires_at          timestamptz  NOT NULL,
    CONSTRAINT idempotency_keys_pkey PRIMARY KEY (org_id, id),
    CONSTRAINT uq_idempotency_org_key_endpoint UNIQUE (org_id, key, endpoint),
    -- Deferred, because the claim of the key comes before the run.
    CONSTRAINT fk_idempotency_keys_run FOREIGN KEY (org_id, validation_run_id)
        REFERENCES validation_runs (org_id, id) ON DELETE SET NULL (validation_run_id)
        DEFERRABLE INITIALLY DEFERRED,
    CONSTRAINT ck_idempotency_keys_key CHECK (key ~ '^[ -~]{1,255}$'),
    CONSTRAINT ck_idempotency_keys_digests CHECK (octet_length(request_hash) = 32
        AND octet_length(target_digest) = 32 AND octet_length(content_digest) = 32
        AND octet_length(options_digest) = 32),
    CONSTRAINT ck_idempotency_keys_finished CHECK ((recovery_point = 'finished') =
        (response_status IS NOT NULL AND response_headers IS NOT NULL AND response_body IS NOT NULL)),
    -- A refusal is never remembered, save the definitive 402.
    CONSTRAINT ck_idempotency_keys_status CHECK (response_status BETWEEN 200 AND 299 OR response_status = 402),
    CONSTRAINT ck_idempotency_keys_unlocked CHECK (recovery_point <> 'finished' OR locked_until IS NULL),
    CONSTRAINT ck_idempotency_keys_lifetime CHECK (expires_at > created_at)
);
CREATE INDEX ix_idempotency_keys_expires_at ON idempotency_keys (expires_at);

-- +goose Down
DROP TABLE idempotency_keys;
