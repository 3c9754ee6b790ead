-- The keys that the secrets of external validators are derived from, encrypted.
--
-- signing_secrets stays for processes of the release before, and goes with the next one. Its secrets lie in clear in
-- backups, and validators need new ones for the new signatures in any case, so nothing of it is taken over.

-- +goose Up
-- One key for each organization. After a rotation the previous one stays good for a while. Both columns hold
-- ciphertext of core/keyring, whose first 8 bytes name the key of the installation (SV_SECRET_KEY),
-- the same in both.
CREATE TABLE signing_keys (
    org_id          uuid        NOT NULL,
    sealed          bytea       NOT NULL,
    sealed_previous bytea,
    rotated_at      timestamptz,
    created_at      timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT signing_keys_pkey PRIMARY KEY (org_id),
    CONSTRAINT fk_signing_keys_organization FOREIGN KEY (org_id) REFERENCES organizations (id) ON DELETE CASCADE,
    -- A key of 32 bytes behind the key's name and a nonce, with a tag: no row holds it in clear.
    CONSTRAINT ck_signing_keys_sealed CHECK (octet_length(sealed) = 68 AND octet_length(sealed_previous) = 68),
    CONSTRAINT ck_signing_keys_rotated CHECK ((sealed_previous IS NULL) = (rotated_at IS NULL))
);

-- +goose Down
DROP TABLE signing_keys;
