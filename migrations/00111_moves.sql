-- Operators move organizations from cell to cell (docs/guides/one-machine-to-many.md).

-- +goose Up
ALTER TABLE organizations
    -- Until when the organization starts and changes nothing, because it is being copied to another cell. Whatever
    -- becomes of the copy, it goes on here from then on, unless it has moved.
    ADD COLUMN moving_until timestamptz,
    -- The cell that has it from now on. It has no tokens and no counters here any more, and nothing can be started.
    ADD COLUMN moved_to     text;

-- Which cell has the organization of a token that was used here before. The row outlives the organization.
CREATE TABLE moved_tokens (
    digest bytea NOT NULL,
    cell   text  NOT NULL,
    CONSTRAINT moved_tokens_pkey PRIMARY KEY (digest)
);

-- +goose Down
DROP TABLE moved_tokens;
ALTER TABLE organizations DROP COLUMN moving_until, DROP COLUMN moved_to;
