-- Who has come from the provider and is asked for a code waits with the link to the account at the provider: it is made
-- when the code was right, and not for everybody whom the provider sends.

-- +goose Up
ALTER TABLE sign_in_steps
    -- The account at the provider that is linked by the code; empty for none.
    ADD COLUMN issuer  text NOT NULL DEFAULT '',
    ADD COLUMN subject text NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE sign_in_steps DROP COLUMN issuer, DROP COLUMN subject;
