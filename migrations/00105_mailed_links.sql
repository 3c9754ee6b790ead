-- Anybody may ask for a link for any address. How many were mailed to an account is therefore counted here, and a link
-- stays valid when another one is mailed: a user has several, and at most one that was given.
--
-- During an upgrade the previous release leaves the link that it replaces valid.

-- +goose Up
ALTER TABLE password_links
    DROP CONSTRAINT password_links_pkey,
    ADD CONSTRAINT password_links_pkey PRIMARY KEY (user_id, digest),
    -- The letter that has the link. The attempts to send one letter count once.
    ADD COLUMN mail_id uuid;

-- +goose Down
DELETE FROM password_links AS l
    USING password_links AS newer
    WHERE newer.user_id = l.user_id AND newer.origin = l.origin
        AND (newer.created_at, newer.digest) > (l.created_at, l.digest);
ALTER TABLE password_links
    DROP CONSTRAINT password_links_pkey,
    ADD CONSTRAINT password_links_pkey PRIMARY KEY (user_id, origin),
    DROP COLUMN mail_id;
