-- The outbox and the record of periodic work that was done.

-- +goose Up
CREATE TABLE staged_jobs (
    id         bigint      GENERATED ALWAYS AS IDENTITY,
    kind       text        NOT NULL,
    -- What the job is about and which try it is: together they name the queue's task.
    org_id     uuid        NOT NULL,
    subject_id uuid        NOT NULL,
    epoch      integer     NOT NULL,
    attempts   integer     NOT NULL DEFAULT 0,
    due_at     timestamptz NOT NULL DEFAULT now(),
    last_error text        NOT NULL DEFAULT '',
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT staged_jobs_pkey PRIMARY KEY (id)
);

-- One effect per job and tick, whatever the queue delivers.
CREATE TABLE job_ticks (
    job        text        NOT NULL,
    tick       timestamptz NOT NULL,
    done_at    timestamptz NOT NULL DEFAULT now(),
    effect     bigint      NOT NULL DEFAULT 0,
    CONSTRAINT job_ticks_pkey PRIMARY KEY (job, tick)
);

-- +goose Down
DROP TABLE job_ticks, staged_jobs;
