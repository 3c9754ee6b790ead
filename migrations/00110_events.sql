-- Events tell an organization what has happened to its runs, keys, quota and workflows; webhooks deliver them.
--
-- Triggers write them, so that no way to end a run can leave its event out, and none is there without its cause. An
-- organization that nobody listens for writes none.

-- +goose Up
ALTER TABLE organizations
    -- Whether events are written for GET /api/events/ although no webhook wants them.
    ADD COLUMN event_log boolean NOT NULL DEFAULT false;

CREATE TABLE webhooks (
    org_id          uuid        NOT NULL,
    id              uuid        NOT NULL,
    url             text        NOT NULL,
    description     text        NOT NULL DEFAULT '',
    -- Those that it wants; without any it wants all.
    event_types     text[]      NOT NULL DEFAULT '{}',
    -- Only events of this workflow, where it is set.
    workflow_id     uuid,
    -- v1 signs with HMAC-SHA256, v1a with Ed25519.
    signature       text        NOT NULL DEFAULT 'v1',
    -- Ciphertext of core/keyring: the secret, that of before the last rotation, and the headers as JSON.
    sealed          bytea       NOT NULL,
    sealed_previous bytea,
    rotated_at      timestamptz,
    sealed_headers  bytea,
    header_names    text[]      NOT NULL DEFAULT '{}',
    created_at      timestamptz NOT NULL DEFAULT now(),
    disabled_at     timestamptz,
    -- Why the service has disabled it; empty where a person has.
    disabled_reason text        NOT NULL DEFAULT '',
    -- Since when no attempt has succeeded.
    failing_since   timestamptz,
    -- When the next delivery is due; NULL while none waits.
    due_at          timestamptz,
    -- While events are sent again: the positions behind which and up to which that is still to be done.
    resend_after    bigint,
    resend_until    bigint,
    -- The fence and the lease of the process that delivers.
    epoch           integer     NOT NULL DEFAULT 1,
    lease_until     timestamptz,
    CONSTRAINT webhooks_pkey PRIMARY KEY (org_id, id),
    -- A repeated request makes no second webhook.
    CONSTRAINT uq_webhooks_url UNIQUE (org_id, url),
    CONSTRAINT fk_webhooks_workflow FOREIGN KEY (org_id, workflow_id) REFERENCES workflows (org_id, id)
        ON DELETE CASCADE,
    CONSTRAINT fk_webhooks_organization FOREIGN KEY (org_id) REFERENCES organizations (id) ON DELETE CASCADE,
    CONSTRAINT ck_webhooks_signature CHECK (signature IN ('v1', 'v1a')),
    CONSTRAINT ck_webhooks_sealed CHECK (octet_length(sealed) = 68 AND octet_length(sealed_previous) = 68),
    CONSTRAINT ck_webhooks_resend CHECK ((resend_after IS NULL) = (resend_until IS NULL)),
    CONSTRAINT ck_webhooks_rotated CHECK ((sealed_previous IS NULL) = (rotated_at IS NULL))
);
CREATE INDEX ix_webhooks_due ON webhooks (due_at) WHERE due_at IS NOT NULL AND disabled_at IS NULL;
CREATE INDEX ix_webhooks_resend ON webhooks (resend_until) WHERE resend_until IS NOT NULL;

CREATE TABLE events (
    org_id      uuid        NOT NULL,
    id          uuid        NOT NULL DEFAULT gen_random_uuid(),
    -- The place in the organization's list, given after the commit, so that the list only grows at its end. NULL until
    -- then.
    position    bigint,
    type        text        NOT NULL,
    at          timestamptz NOT NULL DEFAULT now(),
    workflow_id uuid,
    run_id      uuid,
    -- JSON, as it is delivered.
    data        text        NOT NULL,
    CONSTRAINT events_pkey PRIMARY KEY (org_id, id),
    CONSTRAINT uq_events_position UNIQUE (org_id, position)
);
CREATE INDEX ix_events_unpublished ON events (at) WHERE position IS NULL;
CREATE INDEX ix_events_at ON events (at);
CREATE INDEX ix_events_run ON events (run_id, org_id) WHERE run_id IS NOT NULL;

-- A delivery is found by the position of its event.
CREATE TABLE webhook_deliveries (
    org_id     uuid    NOT NULL,
    webhook_id uuid    NOT NULL,
    position   bigint  NOT NULL,
    -- All attempts so far, and those since the event was last to be sent.
    attempts   integer NOT NULL DEFAULT 0,
    tries      integer NOT NULL DEFAULT 0,
    -- When the next attempt is due; NULL once it is delivered or has failed.
    due_at     timestamptz DEFAULT now(),
    delivered  boolean NOT NULL DEFAULT false,
    CONSTRAINT webhook_deliveries_pkey PRIMARY KEY (org_id, webhook_id, position),
    CONSTRAINT fk_webhook_deliveries_webhook FOREIGN KEY (org_id, webhook_id) REFERENCES webhooks (org_id, id)
        ON DELETE CASCADE,
    CONSTRAINT fk_webhook_deliveries_event FOREIGN KEY (org_id, position) REFERENCES events (org_id, position)
        ON DELETE CASCADE,
    CONSTRAINT ck_webhook_deliveries_delivered CHECK (NOT delivered OR due_at IS NULL)
);
CREATE INDEX ix_webhook_deliveries_due ON webhook_deliveries (webhook_id, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX ix_webhook_deliveries_event ON webhook_deliveries (position, org_id);

CREATE TABLE webhook_attempts (
    org_id     uuid        NOT NULL,
    webhook_id uuid        NOT NULL,
    position   bigint      NOT NULL,
    number     integer     NOT NULL,
    at         timestamptz NOT NULL,
    took_us    bigint      NOT NULL,
    -- 0 where there was no answer.
    status     smallint    NOT NULL DEFAULT 0,
    -- Why the attempt has failed; empty where it has not.
    reason     text        NOT NULL DEFAULT '',
    -- The beginning of the answer.
    excerpt    text        NOT NULL DEFAULT '',
    CONSTRAINT webhook_attempts_pkey PRIMARY KEY (org_id, webhook_id, position, number),
    CONSTRAINT fk_webhook_attempts_delivery FOREIGN KEY (org_id, webhook_id, position)
        REFERENCES webhook_deliveries (org_id, webhook_id, position) ON DELETE CASCADE
);

-- Whether anybody listens for an event. A webhook that is disabled gets it when it is sent again. These functions are in
-- PL/pgSQL because a session keeps their plans; it would plan those of SQL at each call.
-- +goose StatementBegin
CREATE FUNCTION wants_event(org uuid, kind text, workflow uuid) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN EXISTS (SELECT FROM webhooks WHERE org_id = org AND (event_types = '{}' OR kind = ANY (event_types))
            AND (workflow_id IS NULL OR workflow_id = workflow))
        OR EXISTS (SELECT FROM organizations WHERE id = org AND event_log);
END $$;
-- +goose StatementEnd

-- Writes an event if anybody listens for it.
-- +goose StatementBegin
CREATE FUNCTION note_event(org uuid, kind text, workflow uuid, run uuid, body json) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF wants_event(org, kind, workflow) THEN
        INSERT INTO events (org_id, type, workflow_id, run_id, data) VALUES (org, kind, workflow, run, body::text);
    END IF;
END $$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE FUNCTION note_run_event() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    kind text := CASE NEW.result WHEN 'CANCELED' THEN 'run.canceled' ELSE 'run.completed' END;
BEGIN
    -- The event is not rendered where nobody wants it, because every run comes here.
    IF wants_event(NEW.org_id, kind, NEW.workflow_id) THEN
        INSERT INTO events (org_id, type, workflow_id, run_id, data)
        VALUES (NEW.org_id, kind, NEW.workflow_id, NEW.id, json_build_object(
            'run', NEW.id, 'workflow', NEW.workflow_id, 'workflow_slug', NEW.workflow_slug,
            'workflow_version', NEW.workflow_version, 'result', NEW.result, 'error_category', NEW.error_category,
            'error_count', NEW.error_count, 'warning_count', NEW.warning_count, 'info_count', NEW.info_count,
            'idempotency_key', nullif(NEW.idempotency_key, ''), 'url', '/api/runs/' || NEW.id || '/')::text);
    END IF;
    RETURN NULL;
END $$;
-- +goose StatementEnd
-- A run that was only reserved, because its price was not paid, is none for its organization.
CREATE TRIGGER tr_validation_runs_events AFTER UPDATE OF state ON validation_runs
    FOR EACH ROW WHEN (NEW.state = 'COMPLETED' AND OLD.state <> 'COMPLETED' AND NEW.usage_metric <> '')
    EXECUTE FUNCTION note_run_event();

-- +goose StatementBegin
CREATE FUNCTION note_overage_event() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM note_event(NEW.org_id, 'usage.overage_charged', NEW.workflow_id, NEW.id, json_build_object(
        'run', NEW.id, 'workflow', NEW.workflow_id, 'period', NEW.usage_period,
        'url', '/api/runs/' || NEW.id || '/'));
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER tr_validation_runs_overage AFTER UPDATE OF usage_metric ON validation_runs
    FOR EACH ROW WHEN (OLD.usage_metric = '' AND NEW.usage_metric = 'runs_overage')
    EXECUTE FUNCTION note_overage_event();

-- +goose StatementBegin
CREATE FUNCTION note_quota_event() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM note_event(NEW.org_id, 'quota.reached', NULL, NULL, json_build_object(
        'period', NEW.period_start, 'used', NEW.used, 'quota', NEW.quota,
        'percent', CASE WHEN NEW.used >= NEW.quota THEN 100 ELSE 80 END, 'url', '/api/usage/'));
    RETURN NULL;
END $$;
-- +goose StatementEnd
-- At 80 and at 100 %, once each unless the quota is raised meanwhile.
CREATE TRIGGER tr_usage_counters_events AFTER UPDATE OF used ON usage_counters
    FOR EACH ROW WHEN (NEW.metric = 'runs' AND NEW.used > OLD.used AND (
        NEW.used >= NEW.quota AND OLD.used < NEW.quota
        OR NEW.used * 5 >= NEW.quota * 4 AND OLD.used * 5 < NEW.quota * 4))
    EXECUTE FUNCTION note_quota_event();

-- +goose StatementBegin
CREATE FUNCTION note_key_abandoned() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM note_event(NEW.org_id, 'key.abandoned', NULL, NEW.validation_run_id, json_build_object(
        'key', NEW.key, 'key_id', NEW.id, 'endpoint', NEW.endpoint, 'recovery_point', NEW.recovery_point,
        'run', NEW.validation_run_id, 'url', '/api/idempotency-keys/' || NEW.id || '/'));
    RETURN NULL;
END $$;
-- +goose StatementEnd
-- Its request has ended between two phases, and the service finishes it.
CREATE TRIGGER tr_idempotency_keys_abandoned AFTER UPDATE OF attempts ON idempotency_keys
    FOR EACH ROW WHEN (OLD.id = NEW.id AND OLD.attempts = 0 AND NEW.attempts = 1)
    EXECUTE FUNCTION note_key_abandoned();

-- +goose StatementBegin
CREATE FUNCTION note_version_event() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM note_event(NEW.org_id, 'workflow.version_published', NEW.workflow_id, NULL, json_build_object(
        'workflow', NEW.workflow_id, 'workflow_version', NEW.number,
        'url', '/api/workflows/' || NEW.workflow_id || '/'));
    RETURN NULL;
END $$;
-- +goose StatementEnd
-- Versions of an archive are older than their transaction.
CREATE TRIGGER tr_workflow_versions_events AFTER INSERT ON workflow_versions
    FOR EACH ROW WHEN (NEW.created_at = now()) EXECUTE FUNCTION note_version_event();

-- +goose StatementBegin
CREATE FUNCTION note_webhook_event() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM note_event(NEW.org_id, 'endpoint.disabled', NULL, NULL, json_build_object(
        'webhook', NEW.id, 'reason', NEW.disabled_reason, 'failing_since', NEW.failing_since,
        'url', '/api/webhooks/' || NEW.id || '/'));
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER tr_webhooks_events AFTER UPDATE OF disabled_at ON webhooks
    FOR EACH ROW WHEN (OLD.disabled_at IS NULL AND NEW.disabled_reason <> '')
    EXECUTE FUNCTION note_webhook_event();

-- +goose Down
DROP TRIGGER tr_workflow_versions_events ON workflow_versions;
DROP TRIGGER tr_idempotency_keys_abandoned ON idempotency_keys;
DROP TRIGGER tr_usage_counters_events ON usage_counters;
DROP TRIGGER tr_validation_runs_overage ON validation_runs;
DROP TRIGGER tr_validation_runs_events ON validation_runs;
DROP TABLE webhook_attempts, webhook_deliveries, events, webhooks;
DROP FUNCTION note_run_event, note_overage_event, note_quota_event, note_key_abandoned, note_version_event,
    note_webhook_event, note_event, wants_event;
ALTER TABLE organizations DROP COLUMN event_log;
