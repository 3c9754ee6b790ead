-- Documents that are too large for the row of their submission. They arrive in chunks, each committed by itself, and
-- the transaction of the start adopts the whole.

-- +goose Up
CREATE TABLE uploads (
    org_id      uuid        NOT NULL,
    id          uuid        NOT NULL,
    -- NULL until all of it is there.
    size        bigint,
    -- When it is deleted: put off with every chunk, NULL while a submission has it.
    sweep_after timestamptz DEFAULT now() + interval '1 hour',
    created_at  timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT uploads_pkey PRIMARY KEY (org_id, id),
    CONSTRAINT uq_uploads_size UNIQUE (org_id, id, size),
    CONSTRAINT ck_uploads_size CHECK (size > 0)
);

CREATE INDEX ix_uploads_sweep ON uploads (sweep_after) WHERE sweep_after IS NOT NULL;

CREATE TABLE upload_chunks (
    org_id     uuid   NOT NULL,
    upload_id  uuid   NOT NULL,
    -- Where in the document the chunk begins.
    first_byte bigint NOT NULL,
    bytes      bytea  NOT NULL,
    CONSTRAINT upload_chunks_pkey PRIMARY KEY (org_id, upload_id, first_byte),
    CONSTRAINT fk_upload_chunks_upload FOREIGN KEY (org_id, upload_id) REFERENCES uploads (org_id, id)
        ON DELETE CASCADE,
    CONSTRAINT ck_upload_chunks_place CHECK (first_byte >= 0 AND octet_length(bytes) > 0)
);

ALTER TABLE submissions
    ADD COLUMN upload_id uuid,
    ADD CONSTRAINT ck_submissions_one_content CHECK (content IS NULL OR upload_id IS NULL),
    -- Adopted once, by its own organization, and only when it is whole: the size of one that is not is NULL.
    ADD CONSTRAINT fk_submissions_upload FOREIGN KEY (org_id, upload_id, size) REFERENCES uploads (org_id, id, size);

CREATE UNIQUE INDEX uq_submissions_upload ON submissions (org_id, upload_id) WHERE upload_id IS NOT NULL;

-- +goose Down
DROP INDEX uq_submissions_upload;
ALTER TABLE submissions
    DROP CONSTRAINT fk_submissions_upload, DROP CONSTRAINT ck_submissions_one_content, DROP COLUMN upload_id;
DROP TABLE upload_chunks, uploads;
