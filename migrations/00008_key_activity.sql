-- What became of keys after their first use. It is counted in memory and written every few seconds, so that
-- a replay writes nothing; what a crash loses is the counts of those seconds.

-- +goose Up
CREATE TABLE key_activity (
    org_id         uuid        NOT NULL,
    key_id         uuid        NOT NULL,
    replays        bigint      NOT NULL DEFAULT 0,
    mismatches     bigint      NOT NULL DEFAULT 0,
    conflicts      bigint      NOT NULL DEFAULT 0,
    last_replay_at timestamptz,
    last_refusal_at timestamptz,
    CONSTRAINT key_activity_pkey PRIMARY KEY (org_id, key_id),
    CONSTRAINT ck_key_activity_counts CHECK (replays >= 0 AND mismatches >= 0 AND conflicts >= 0)
);

ALTER TABLE idempotency_keys ADD COLUMN finished_at timestamptz;

-- +goose Down
ALTER TABLE idempotency_keys DROP COLUMN finished_at;
DROP TABLE key_activity;
