-- Chunks of uploads whose bytes are objects in a store beside the database, where an operator has set one.
--
-- An object is put after its upload was committed and before its chunk is inserted here. A row of uploads that is gone
-- never comes back. So every chunk has its object, and an object whose upload has no row may be deleted at any time.

-- +goose Up
CREATE TABLE upload_objects (
    org_id     uuid   NOT NULL,
    upload_id  uuid   NOT NULL,
    -- Where in the document the chunk begins.
    first_byte bigint NOT NULL,
    size       bigint NOT NULL,
    -- The digest is part of the object's name, too.
    sha256     bytea  NOT NULL,
    CONSTRAINT upload_objects_pkey PRIMARY KEY (org_id, upload_id, first_byte),
    CONSTRAINT fk_upload_objects_upload FOREIGN KEY (org_id, upload_id) REFERENCES uploads (org_id, id)
        ON DELETE CASCADE,
    CONSTRAINT ck_upload_objects_place CHECK (first_byte >= 0 AND size > 0),
    CONSTRAINT ck_upload_objects_sha256 CHECK (octet_length(sha256) = 32)
);

-- The one row of the store: which database it belongs to, and how far its sweep has come.
CREATE TABLE object_stores (
    only_one boolean NOT NULL DEFAULT true,
    -- The store has an object with the same id, and with the epoch of the last sweep. A copy of the database from an
    -- earlier time has a lower one, and must not delete what it does not know.
    id       uuid    NOT NULL DEFAULT gen_random_uuid(),
    epoch    bigint  NOT NULL DEFAULT 0,
    -- The name behind which the sweep goes on.
    after    text    NOT NULL DEFAULT '',
    CONSTRAINT object_stores_pkey PRIMARY KEY (only_one),
    CONSTRAINT ck_object_stores_only_one CHECK (only_one)
);

-- +goose Down
DROP TABLE object_stores, upload_objects;
