-- Drafts of workflows: what an author has written and not published yet. A draft starts no runs.

-- +goose Up
CREATE TABLE workflow_drafts (
    org_id      uuid        NOT NULL,
    workflow_id uuid        NOT NULL,
    -- Grows with every change. An editor overwrites only the revision that it has shown.
    revision    integer     NOT NULL,
    -- The state of the workflow that the text was made from.
    base        text        NOT NULL,
    body        text        NOT NULL,
    updated_by  uuid        NOT NULL,
    updated_at  timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT workflow_drafts_pkey PRIMARY KEY (org_id, workflow_id),
    CONSTRAINT fk_workflow_drafts_workflow FOREIGN KEY (org_id, workflow_id) REFERENCES workflows (org_id, id)
        ON DELETE CASCADE,
    CONSTRAINT ck_workflow_drafts_revision CHECK (revision >= 1),
    CONSTRAINT ck_workflow_drafts_body CHECK (octet_length(body) <= 2097152)
);

-- +goose Down
DROP TABLE workflow_drafts;
