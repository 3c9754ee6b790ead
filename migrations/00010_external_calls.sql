-- Calls of external validators, and the secrets that they are signed with.

-- +goose Up
CREATE TABLE external_calls (
    org_id         uuid        NOT NULL,
    -- Also the receipt under which the validator may answer later.
    id             uuid        NOT NULL,
    run_id         uuid        NOT NULL,
    ordinal        integer     NOT NULL,
    -- CALLING until the validator has answered; WAITING while it has only promised to.
    state          text        NOT NULL DEFAULT 'CALLING',
    -- When the promise ends.
    callback_until timestamptz,
    -- The answer that counts. It goes when the step's result has been written.
    answer         bytea,
    began_at       timestamptz NOT NULL DEFAULT now(),
    answered_at    timestamptz,
    CONSTRAINT external_calls_pkey PRIMARY KEY (org_id, id),
    CONSTRAINT uq_external_calls_receipt UNIQUE (id),
    -- One logical call for a step of a run, however often the step is repeated.
    CONSTRAINT uq_external_calls_step UNIQUE (org_id, run_id, ordinal),
    CONSTRAINT fk_external_calls_run FOREIGN KEY (org_id, run_id) REFERENCES validation_runs (org_id, id)
        ON DELETE CASCADE,
    CONSTRAINT ck_external_calls_state CHECK (state IN ('CALLING', 'WAITING', 'ANSWERED', 'FAILED')),
    CONSTRAINT ck_external_calls_waiting CHECK (state <> 'WAITING' OR callback_until IS NOT NULL),
    CONSTRAINT ck_external_calls_answer CHECK (
        (state = 'ANSWERED') = (answered_at IS NOT NULL) AND (answer IS NULL OR state = 'ANSWERED'))
);

-- One secret for each organization. After a rotation the previous one stays good for a while.
CREATE TABLE signing_secrets (
    org_id     uuid        NOT NULL,
    secret     text        NOT NULL,
    previous   text        NOT NULL DEFAULT '',
    rotated_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT signing_secrets_pkey PRIMARY KEY (org_id),
    CONSTRAINT fk_signing_secrets_organization FOREIGN KEY (org_id) REFERENCES organizations (id) ON DELETE CASCADE,
    CONSTRAINT ck_signing_secrets_length CHECK (length(secret) >= 32),
    CONSTRAINT ck_signing_secrets_rotated CHECK ((previous = '') = (rotated_at IS NULL))
);

-- +goose Down
DROP TABLE signing_secrets, external_calls;
