-- Memberships begin with an invitation that the invited person accepts.

-- +goose Up
CREATE TABLE invitations (
    org_id      uuid        NOT NULL,
    id          uuid        NOT NULL,
    -- Whose invitation it is. The address alone: whether somebody has an account with it is nobody's business.
    email       text        NOT NULL,
    -- What the administrator calls the person. It is never the name of a user.
    name        text        NOT NULL DEFAULT '',
    role        text        NOT NULL,
    -- The member who answers for the invitation. It is void once that member may not give the role any more.
    invited_by  uuid        NOT NULL,
    state       text        NOT NULL DEFAULT 'open',
    -- SHA-256 of the newest link's secret; NULL until a link is made.
    digest      bytea,
    accepted_by uuid,
    created_at  timestamptz NOT NULL DEFAULT now(),
    expires_at  timestamptz NOT NULL DEFAULT now() + interval '7 days',
    CONSTRAINT invitations_pkey PRIMARY KEY (org_id, id),
    CONSTRAINT uq_invitations_digest UNIQUE (digest),
    CONSTRAINT fk_invitations_org FOREIGN KEY (org_id) REFERENCES organizations (id) ON DELETE CASCADE,
    CONSTRAINT ck_invitations_email CHECK (email = lower(email) AND email LIKE '%_@_%'),
    CONSTRAINT ck_invitations_name CHECK (length(name) <= 200),
    CONSTRAINT ck_invitations_role CHECK (role IN ('owner', 'admin', 'author', 'executor', 'viewer')),
    CONSTRAINT ck_invitations_state CHECK (state IN ('open', 'accepted', 'declined', 'revoked')),
    CONSTRAINT ck_invitations_accepted_by CHECK ((state = 'accepted') = (accepted_by IS NOT NULL)),
    CONSTRAINT ck_invitations_digest CHECK (length(digest) = 32)
);
-- One open invitation per address, however many administrators invite at once.
CREATE UNIQUE INDEX uq_invitations_open ON invitations (org_id, email) WHERE state = 'open';
-- The invitations of a person who has signed in, and those that a purge deletes.
CREATE INDEX ix_invitations_email ON invitations (email) WHERE state = 'open';
CREATE INDEX ix_invitations_expires_at ON invitations (expires_at);

-- Somebody who made the account with the link of an invitation has not shown to whom the address belongs: an
-- administrator of any organization could have used the link. Other organizations' invitations therefore take their
-- link. Accounts of the operator's are trusted.
ALTER TABLE users ADD COLUMN address_confirmed boolean NOT NULL DEFAULT true;
-- The organization whose pages the user has looked at last. A hint: the user may have left it.
ALTER TABLE users ADD COLUMN last_org_id uuid;

-- +goose Down
ALTER TABLE users DROP COLUMN last_org_id;
ALTER TABLE users DROP COLUMN address_confirmed;
DROP TABLE invitations;
