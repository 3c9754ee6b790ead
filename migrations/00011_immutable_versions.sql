-- A version of a workflow is what it was published as: runs that name it must find it so.

-- +goose Up
CREATE TRIGGER tr_workflow_versions_immutable BEFORE UPDATE ON workflow_versions
    FOR EACH ROW EXECUTE FUNCTION refuse_change();

-- +goose Down
DROP TRIGGER tr_workflow_versions_immutable ON workflow_versions;
