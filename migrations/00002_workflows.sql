-- Workflows, their versions, and the content-addressed definitions that runs execute.

-- +goose Up
CREATE TABLE definitions (
    org_id     uuid        NOT NULL,
    digest     bytea       NOT NULL,
    body       bytea       NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT definitions_pkey PRIMARY KEY (org_id, digest),
    CONSTRAINT fk_definitions_org FOREIGN KEY (org_id) REFERENCES organizations (id) ON DELETE CASCADE,
    CONSTRAINT ck_definitions_digest CHECK (digest = sha256(body))
);

CREATE TABLE workflows (
    org_id         uuid        NOT NULL,
    id             uuid        NOT NULL,
    slug           text        NOT NULL,
    name           text        NOT NULL,
    description    text        NOT NULL DEFAULT '',
    is_active      boolean     NOT NULL DEFAULT true,
    latest_version integer     NOT NULL,
    created_at     timestamptz NOT NULL DEFAULT now(),
    updated_at     timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT workflows_pkey PRIMARY KEY (org_id, id),
    CONSTRAINT uq_workflows_slug UNIQUE (org_id, slug),
    CONSTRAINT fk_workflows_org FOREIGN KEY (org_id) REFERENCES organizations (id) ON DELETE CASCADE,
    CONSTRAINT ck_workflows_slug CHECK (slug ~ '^[a-z0-9][a-z0-9-]{0,62}$')
);

CREATE TABLE workflow_versions (
    org_id            uuid        NOT NULL,
    workflow_id       uuid        NOT NULL,
    number            integer     NOT NULL,
    definition_digest bytea       NOT NULL,
    created_at        timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT workflow_versions_pkey PRIMARY KEY (org_id, workflow_id, number),
    CONSTRAINT fk_workflow_versions_workflow FOREIGN KEY (org_id, workflow_id)
        REFERENCES workflows (org_id, id) ON DELETE CASCADE,
    CONSTRAINT fk_workflow_versions_definition FOREIGN KEY (org_id, definition_digest)
        REFERENCES definitions (org_id, digest),
    CONSTRAINT ck_workflow_versions_number CHECK (number >= 1)
);

-- Deferred, because a workflow and its first version refer to each other.
ALTER TABLE workflows ADD CONSTRAINT fk_workflows_latest_version FOREIGN KEY (org_id, id, latest_version)
    REFERENCES workflow_versions (org_id, workflow_id, number) DEFERRABLE INITIALLY DEFERRED;

-- A definition is what its digest says, for ever.
-- +goose StatementBegin
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% rows are immutable', TG_TABLE_NAME USING ERRCODE = 'integrity_constraint_violation';
END $$;
-- +goose StatementEnd
CREATE TRIGGER tr_definitions_immutable BEFORE UPDATE ON definitions
    FOR EACH ROW EXECUTE FUNCTION refuse_change();

-- +goose Down
DROP TABLE workflow_versions, workflows, definitions CASCADE;
DROP FUNCTION refuse_change;
