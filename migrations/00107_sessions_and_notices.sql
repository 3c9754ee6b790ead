-- What people recognize their sessions by, and letters about changes of their accounts.

-- +goose Up
ALTER TABLE sessions
    -- Names the session to its user. The digest is that of a secret, and stands in no address.
    ADD COLUMN id           uuid        NOT NULL DEFAULT gen_random_uuid(),
    -- The address of the client that has signed in; empty in sessions that began before.
    ADD COLUMN address      text        NOT NULL DEFAULT '',
    -- Written at most every five minutes, together with expires_at.
    ADD COLUMN last_used_at timestamptz NOT NULL DEFAULT now();
UPDATE sessions SET last_used_at = least(now(), expires_at - interval '12 hours');

ALTER TABLE mails
    DROP CONSTRAINT ck_mails_kind,
    ADD CONSTRAINT ck_mails_kind CHECK (kind IN ('invitation', 'password', 'forgotten', 'notice'));

-- +goose Down
DELETE FROM mails WHERE kind = 'notice';
ALTER TABLE mails
    DROP CONSTRAINT ck_mails_kind,
    ADD CONSTRAINT ck_mails_kind CHECK (kind IN ('invitation', 'password', 'forgotten'));
ALTER TABLE sessions DROP COLUMN id, DROP COLUMN address, DROP COLUMN last_used_at;
