-- An organization can require a second factor of its members. Whoever has none may do nothing there, by a session or by
-- a token.
--
-- During an upgrade the processes of the previous release let everybody through, and delete factors without a new
-- access tag in other processes: the trigger renews it for them, too.

-- +goose Up
ALTER TABLE organizations ADD COLUMN second_factor_required boolean NOT NULL DEFAULT false;

-- Setting one up needs no new tag: a token that is refused is not remembered. The order is that of
-- change_access_of_user().
-- +goose StatementBegin
CREATE FUNCTION change_access_without_factor() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE organizations SET access_tag = DEFAULT WHERE id IN (
        SELECT id FROM organizations WHERE second_factor_required
            AND id IN (SELECT org_id FROM api_tokens WHERE user_id = OLD.user_id)
        ORDER BY id FOR NO KEY UPDATE);
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER tr_second_factors_access AFTER DELETE ON second_factors
    FOR EACH ROW EXECUTE FUNCTION change_access_without_factor();

-- +goose Down
DROP TRIGGER tr_second_factors_access ON second_factors;
DROP FUNCTION change_access_without_factor;
ALTER TABLE organizations DROP COLUMN second_factor_required;
