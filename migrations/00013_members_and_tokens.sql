-- An organization that has an owner keeps one, and a token that was rotated names the one that took its place.

-- +goose Up
ALTER TABLE api_tokens
    -- One successor at most: a token that has one cannot be rotated again.
    ADD COLUMN replaced_by uuid,
    ADD CONSTRAINT fk_api_tokens_replaced_by FOREIGN KEY (org_id, replaced_by) REFERENCES api_tokens (org_id, id);

-- Of two owners who leave at once each would still see the other. The lock makes one of them wait and look again.
-- +goose StatementBegin
CREATE FUNCTION guard_last_owner() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    -- An organization that is being deleted is gone already, and takes all its members with it.
    PERFORM FROM organizations WHERE id = OLD.org_id FOR NO KEY UPDATE;
    IF FOUND AND NOT EXISTS (SELECT FROM memberships WHERE org_id = OLD.org_id AND role = 'owner') THEN
        RAISE EXCEPTION 'organization % would have no owner', OLD.org_id
            USING ERRCODE = 'check_violation', CONSTRAINT = 'tr_memberships_last_owner';
    END IF;
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER tr_memberships_last_owner AFTER UPDATE OR DELETE ON memberships
    FOR EACH ROW WHEN (OLD.role = 'owner') EXECUTE FUNCTION guard_last_owner();

-- +goose Down
DROP TRIGGER tr_memberships_last_owner ON memberships;
DROP FUNCTION guard_last_owner;
ALTER TABLE api_tokens DROP COLUMN replaced_by;
