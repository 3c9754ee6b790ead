-- What an organization's requests met with their keys, day by day. It is counted in memory and written every few
-- seconds as the activity of single keys is, and it also counts what belongs to no key.

-- +goose Up
CREATE TABLE key_activity_days (
    org_id      uuid   NOT NULL,
    -- By the database's clock, in UTC.
    day         date   NOT NULL,
    replayed    bigint NOT NULL DEFAULT 0,
    in_progress bigint NOT NULL DEFAULT 0,
    reused      bigint NOT NULL DEFAULT 0,
    misnamed    bigint NOT NULL DEFAULT 0,
    CONSTRAINT key_activity_days_pkey PRIMARY KEY (org_id, day),
    CONSTRAINT ck_key_activity_days_counts
        CHECK (replayed >= 0 AND in_progress >= 0 AND reused >= 0 AND misnamed >= 0)
);

-- +goose Down
DROP TABLE key_activity_days;
