package random

// journal keeps every change of keys and runs with the transaction that made it, and what must never happen although
// the product does not forbid it to itself. Neither raises an error: that would hide what a broken program does.
const journal = `
	CREATE SCHEMA chaos;
	CREATE TABLE chaos.journal (
		n bigserial, at timestamptz NOT NULL DEFAULT clock_timestamp(), tab text NOT NULL, op text NOT NULL,
		host text NOT NULL DEFAULT current_setting('application_name'), epoch integer NOT NULL,
		org_id uuid NOT NULL, id uuid NOT NULL, key text NOT NULL, state jsonb NOT NULL);
	CREATE INDEX ON chaos.journal (id);
	CREATE TABLE chaos.broken (
		at timestamptz NOT NULL DEFAULT clock_timestamp(), what text NOT NULL, org_id uuid NOT NULL, key text NOT NULL,
		was jsonb NOT NULL, became jsonb);

	CREATE FUNCTION chaos.short(r jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
		SELECT r - '{response_headers,response_body,request_hash,target_digest,content_digest,options_digest,
			user_agent,request_ip,definition_digest,org_id,key,endpoint,request_method,request_path,
			fingerprint_version,source,workflow_id,workflow_slug,workflow_version,submission_id,created_by,
			traceparent,tracestate}'::text[] $$;

	-- Who makes a new epoch holds the row under it, until the next one.
	CREATE FUNCTION chaos.holder(row_id uuid, of integer) RETURNS text LANGUAGE sql AS $$
		SELECT host FROM chaos.journal WHERE id = row_id AND epoch = of ORDER BY n LIMIT 1 $$;

	CREATE FUNCTION chaos.note_key() RETURNS trigger LANGUAGE plpgsql AS $$
	DECLARE was jsonb; r idempotency_keys := CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
	BEGIN
		IF TG_OP <> 'INSERT' THEN was := chaos.short(to_jsonb(OLD)); END IF;
		INSERT INTO chaos.journal (tab, op, epoch, org_id, id, key, state)
			VALUES ('key', TG_OP, r.epoch, r.org_id, r.id, r.key, chaos.short(to_jsonb(r)));
		IF TG_OP = 'INSERT' THEN RETURN NULL; END IF;
		IF TG_OP = 'DELETE' AND OLD.validation_run_id IS NOT NULL AND OLD.expires_at > clock_timestamp()
				AND EXISTS (SELECT FROM validation_runs WHERE org_id = OLD.org_id AND id = OLD.validation_run_id)
			OR TG_OP = 'UPDATE' AND NEW.id <> OLD.id AND OLD.expires_at > clock_timestamp() THEN
			INSERT INTO chaos.broken (what, org_id, key, was) VALUES ('a live key is gone', OLD.org_id, OLD.key, was);
		ELSIF TG_OP = 'DELETE' AND OLD.recovery_point <> 'finished' AND OLD.validation_run_id IS NOT NULL
				AND EXISTS (SELECT FROM validation_runs WHERE org_id = OLD.org_id AND id = OLD.validation_run_id) THEN
			INSERT INTO chaos.broken (what, org_id, key, was)
				VALUES ('an unfinished key is gone', OLD.org_id, OLD.key, was);
		END IF;
		IF TG_OP = 'UPDATE' AND NEW.id = OLD.id AND (NEW.epoch < OLD.epoch OR OLD.recovery_point = 'finished'
				AND (NEW.response_body, NEW.response_status, NEW.response_headers::text, NEW.request_hash)
					IS DISTINCT FROM
					(OLD.response_body, OLD.response_status, OLD.response_headers::text, OLD.request_hash)) THEN
			INSERT INTO chaos.broken (what, org_id, key, was, became) VALUES (
				'the answer of a key changes, or its epoch falls', OLD.org_id, OLD.key, was,
				chaos.short(to_jsonb(NEW)));
		END IF;
		IF TG_OP = 'UPDATE' AND NEW.epoch > OLD.epoch AND OLD.locked_until > clock_timestamp() THEN
			INSERT INTO chaos.broken (what, org_id, key, was, became) VALUES (
				'a key is taken over that is locked', OLD.org_id, OLD.key, was, chaos.short(to_jsonb(NEW)));
		END IF;
		IF TG_OP = 'UPDATE' AND NEW.id = OLD.id AND NEW.epoch = OLD.epoch
				AND chaos.holder(NEW.id, NEW.epoch) <> current_setting('application_name') THEN
			INSERT INTO chaos.broken (what, org_id, key, was, became) VALUES (
				'who does not hold a key changes it', OLD.org_id, OLD.key, was, chaos.short(to_jsonb(NEW)));
		END IF;
		RETURN NULL;
	END $$;
	CREATE TRIGGER chaos_note AFTER INSERT OR UPDATE OR DELETE ON idempotency_keys
		FOR EACH ROW EXECUTE FUNCTION chaos.note_key();

	CREATE FUNCTION chaos.note_run() RETURNS trigger LANGUAGE plpgsql AS $$
	DECLARE r validation_runs := CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
	BEGIN
		INSERT INTO chaos.journal (tab, op, epoch, org_id, id, key, state)
			VALUES ('run', TG_OP, r.epoch, r.org_id, r.id, r.idempotency_key, chaos.short(to_jsonb(r)));
		IF TG_OP = 'UPDATE' AND (NEW.epoch < OLD.epoch OR OLD.state = 'COMPLETED'
				AND chaos.short(to_jsonb(NEW)) IS DISTINCT FROM chaos.short(to_jsonb(OLD)))
			OR TG_OP = 'DELETE' THEN
			INSERT INTO chaos.broken (what, org_id, key, was, became) VALUES (
				'a completed run changes, or its epoch falls, or a run is gone', OLD.org_id, OLD.idempotency_key,
				chaos.short(to_jsonb(OLD)), chaos.short(to_jsonb(NEW)));
		END IF;
		IF TG_OP = 'UPDATE' AND NEW.epoch > OLD.epoch AND OLD.lease_until > clock_timestamp()
				AND chaos.holder(OLD.id, OLD.epoch) <> current_setting('application_name') THEN
			INSERT INTO chaos.broken (what, org_id, key, was, became) VALUES (
				'a run is taken over that is leased', OLD.org_id, OLD.idempotency_key, chaos.short(to_jsonb(OLD)),
				chaos.short(to_jsonb(NEW)));
		END IF;
		IF TG_OP = 'UPDATE' AND NEW.epoch = OLD.epoch
				AND (NEW.recovery_point <> OLD.recovery_point OR NEW.state <> OLD.state
					OR NEW.lease_until > OLD.lease_until)
				AND chaos.holder(NEW.id, NEW.epoch) <> current_setting('application_name') THEN
			INSERT INTO chaos.broken (what, org_id, key, was, became) VALUES (
				'who does not hold a run goes on with it', OLD.org_id, OLD.idempotency_key, chaos.short(to_jsonb(OLD)),
				chaos.short(to_jsonb(NEW)));
		END IF;
		RETURN NULL;
	END $$;
	CREATE TRIGGER chaos_note AFTER INSERT OR UPDATE OR DELETE ON validation_runs
		FOR EACH ROW EXECUTE FUNCTION chaos.note_run();`
