-- The processes of the service that have been heard of, and how their loops get on. Each process writes its own rows
-- every few seconds and takes them away when it stops; those of one that was killed are deleted after a day.

-- +goose Up
CREATE TABLE service_processes (
    id         uuid        NOT NULL,
    host       text        NOT NULL,
    pid        integer     NOT NULL,
    version    text        NOT NULL,
    -- What it was started for: web, worker, scheduler.
    parts      text[]      NOT NULL,
    started_at timestamptz NOT NULL,
    seen_at    timestamptz NOT NULL,
    CONSTRAINT service_processes_pkey PRIMARY KEY (id)
);

CREATE TABLE service_loops (
    process_id uuid        NOT NULL,
    name       text        NOT NULL,
    -- The pause between two passes that find nothing to do.
    every      interval    NOT NULL,
    -- The last pass that was begun, and the last one that has ended; null before the first.
    began_at   timestamptz,
    ended_at   timestamptz,
    -- What the last pass did, and all of them together.
    done       bigint      NOT NULL,
    total      bigint      NOT NULL,
    -- How many passes have failed one after the other, and the last error there was.
    failures   integer     NOT NULL,
    last_error text        NOT NULL,
    failed_at  timestamptz,
    CONSTRAINT service_loops_pkey PRIMARY KEY (process_id, name),
    CONSTRAINT fk_service_loops_process FOREIGN KEY (process_id) REFERENCES service_processes (id) ON DELETE CASCADE,
    CONSTRAINT ck_service_loops_counts CHECK (done >= 0 AND total >= 0 AND failures >= 0)
);

-- +goose Down
DROP TABLE service_loops, service_processes;
