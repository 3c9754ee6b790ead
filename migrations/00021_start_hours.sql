-- What starts came to, hour by hour. It is counted in memory and written every few seconds together with the activity
-- of keys, so that no start writes anything for it.

-- +goose Up
CREATE TABLE start_hours (
    org_id  uuid        NOT NULL,
    -- By the database's clock when it was written, in UTC.
    hour    timestamptz NOT NULL,
    -- Starts that were answered from their key.
    replays bigint      NOT NULL DEFAULT 0,
    -- New starts by how long they took: up to 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000 and 10000
    -- milliseconds, and longer. Other bounds need another column.
    took    bigint[]    NOT NULL,
    CONSTRAINT start_hours_pkey PRIMARY KEY (org_id, hour),
    CONSTRAINT ck_start_hours_counts CHECK (replays >= 0 AND cardinality(took) = 14 AND 0 <= ALL (took))
);

-- +goose Down
DROP TABLE start_hours;
