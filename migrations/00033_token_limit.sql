-- A member who could make tokens without end could multiply what is limited for each token.

-- +goose Up
ALTER TABLE organizations
    -- How many active tokens each member may have.
    ADD COLUMN max_tokens integer NOT NULL DEFAULT 50,
    ADD CONSTRAINT ck_organizations_max_tokens CHECK (max_tokens BETWEEN 1 AND 10000);

-- +goose Down
ALTER TABLE organizations DROP COLUMN max_tokens;
