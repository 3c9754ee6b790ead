-- What happened to keys between their first use and their end: the phases they reached and the takeovers. Ordinary
-- requests have one phase, so they write nothing here.

-- +goose Up
CREATE TABLE key_events (
    org_id uuid        NOT NULL,
    key_id uuid        NOT NULL,
    id     bigint      GENERATED ALWAYS AS IDENTITY,
    at     timestamptz NOT NULL DEFAULT now(),
    was    text        NOT NULL,
    point  text        NOT NULL,
    epoch  integer     NOT NULL,
    CONSTRAINT key_events_pkey PRIMARY KEY (org_id, key_id, id)
);

-- A trigger, so that no way to move a key can leave its event out. What the claiming transaction itself does is no
-- event, and an expired key that is claimed anew has another id and begins with none.
-- +goose StatementBegin
CREATE FUNCTION note_key_event() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO key_events (org_id, key_id, was, point, epoch)
    VALUES (NEW.org_id, NEW.id, OLD.recovery_point, NEW.recovery_point, NEW.epoch);
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER tr_idempotency_keys_events AFTER UPDATE OF recovery_point, epoch ON idempotency_keys
    FOR EACH ROW WHEN (OLD.id = NEW.id AND OLD.recovery_point <> 'finished' AND OLD.created_at < now()
        AND (OLD.recovery_point <> NEW.recovery_point OR OLD.epoch <> NEW.epoch))
    EXECUTE FUNCTION note_key_event();

-- +goose Down
DROP TRIGGER tr_idempotency_keys_events ON idempotency_keys;
DROP FUNCTION note_key_event;
DROP TABLE key_events;
