-- Operators suspend organizations: those that do not pay, whose tokens were stolen, or that are about to be deleted.

-- +goose Up
ALTER TABLE organizations
    -- Since when the organization may only read; NULL where it may do everything.
    ADD COLUMN suspended_at timestamptz;

-- +goose Down
ALTER TABLE organizations DROP COLUMN suspended_at;
