-- What decides about a request of a token is remembered by the processes as long as its organization has the same tag.
-- Whoever changes any of it gives the organization a new tag in the same transaction. Tags are random: one that is lost
-- with a failover never comes back for another state.

-- +goose Up
ALTER TABLE organizations ADD COLUMN access_tag uuid NOT NULL DEFAULT gen_random_uuid();

-- +goose StatementBegin
CREATE FUNCTION renew_access_tag() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.access_tag := gen_random_uuid();
    RETURN NEW;
END $$;
-- +goose StatementEnd
CREATE TRIGGER tr_organizations_access BEFORE UPDATE ON organizations
    FOR EACH ROW EXECUTE FUNCTION renew_access_tag();

-- +goose StatementBegin
CREATE FUNCTION change_access() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE organizations SET access_tag = DEFAULT WHERE id = OLD.org_id;
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER tr_memberships_access AFTER UPDATE OR DELETE ON memberships
    FOR EACH ROW EXECUTE FUNCTION change_access();
CREATE TRIGGER tr_workflows_access AFTER UPDATE OR DELETE ON workflows
    FOR EACH ROW EXECUTE FUNCTION change_access();
-- When a token was used last decides nothing.
CREATE TRIGGER tr_api_tokens_access_update
    AFTER UPDATE OF org_id, id, user_id, digest, role, expires_at, revoked_at ON api_tokens
    FOR EACH ROW EXECUTE FUNCTION change_access();
CREATE TRIGGER tr_api_tokens_access_delete AFTER DELETE ON api_tokens
    FOR EACH ROW EXECUTE FUNCTION change_access();

-- A user who is deleted takes memberships and tokens along. The order keeps two such changes from a deadlock.
-- +goose StatementBegin
CREATE FUNCTION change_access_of_user() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE organizations SET access_tag = DEFAULT WHERE id IN (
        SELECT id FROM organizations WHERE id IN (SELECT org_id FROM api_tokens WHERE user_id = OLD.id)
        ORDER BY id FOR NO KEY UPDATE);
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER tr_users_access AFTER UPDATE OF id, email, name ON users
    FOR EACH ROW EXECUTE FUNCTION change_access_of_user();

-- +goose Down
DROP TRIGGER tr_users_access ON users;
DROP TRIGGER tr_api_tokens_access_delete ON api_tokens;
DROP TRIGGER tr_api_tokens_access_update ON api_tokens;
DROP TRIGGER tr_workflows_access ON workflows;
DROP TRIGGER tr_memberships_access ON memberships;
DROP TRIGGER tr_organizations_access ON organizations;
DROP FUNCTION change_access_of_user, change_access, renew_access_tag;
ALTER TABLE organizations DROP COLUMN access_tag;
