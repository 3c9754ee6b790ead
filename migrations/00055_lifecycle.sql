-- Operators move organizations between installations, and disable users.

-- +goose Up
ALTER TABLE organizations
    -- Which archive is being imported into the organization; NULL once all of it is there. Nobody may use the
    -- organization before that, so it is suspended meanwhile.
    ADD COLUMN import_digest bytea,
    ADD CONSTRAINT ck_organizations_import CHECK (import_digest IS NULL OR suspended_at IS NOT NULL) NOT VALID;

-- Since when the user may neither sign in nor use tokens; NULL for who may.
ALTER TABLE users ADD COLUMN disabled_at timestamptz;

-- What processes remember of the tokens of a user who is disabled no longer holds.
CREATE OR REPLACE TRIGGER tr_users_access AFTER UPDATE OF id, email, name, disabled_at ON users
    FOR EACH ROW EXECUTE FUNCTION change_access_of_user();

-- +goose Down
CREATE OR REPLACE TRIGGER tr_users_access AFTER UPDATE OF id, email, name ON users
    FOR EACH ROW EXECUTE FUNCTION change_access_of_user();
ALTER TABLE users DROP COLUMN disabled_at;
ALTER TABLE organizations DROP CONSTRAINT ck_organizations_import, DROP COLUMN import_digest;
