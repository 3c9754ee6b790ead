\set org random(:first, :last)
BEGIN;
INSERT INTO idempotency_keys (org_id, id, key, endpoint, request_method, request_path, fingerprint_version,
    request_hash, target_digest, content_digest, options_digest, request_id, request_ip, user_agent,
    response_status, response_headers, response_body, validation_run_id, recovery_point, created_at, expires_at)
VALUES ((:org_prefix || lpad(:org::text, 12, '0'))::uuid, gen_random_uuid(), gen_random_uuid()::text, 'workflow_start',
    'POST', :path, 1, :digest, :digest, :digest, :digest, gen_random_uuid()::text, '127.0.0.1', 'pgbench',
    201, :headers, :answer, gen_random_uuid(), 'finished', now(), now() + interval '24 hours')
RETURNING org_id, id AS key_id, key, request_id, validation_run_id AS run_id \gset
UPDATE usage_counters SET used = used + 1
WHERE org_id = :org_id AND metric = 'runs'
    AND period_start = date_trunc('month', now() AT TIME ZONE 'UTC')::date AND (quota IS NULL OR used < quota);
INSERT INTO submissions (org_id, id, media_type, filename, size, sha256, content)
VALUES (:org_id, gen_random_uuid(), 'text/csv', 'meter-readings.csv', :size, :digest, :document)
RETURNING id AS submission_id \gset
INSERT INTO validation_runs (org_id, id, workflow_id, workflow_version, workflow_slug, definition_digest,
    submission_id, source, usage_metric, usage_period, idempotency_key, idempotency_key_id, request_id, sweep_after)
VALUES (:org_id, :run_id, (:workflow_prefix || lpad(:org::text, 12, '0'))::uuid, 1, 'meter-readings', :definition,
    :submission_id, 'CLI', 'runs', date_trunc('month', now() AT TIME ZONE 'UTC')::date, :key, :key_id, :request_id,
    now() + interval '1 minute');
INSERT INTO staged_jobs (kind, org_id, subject_id, epoch) VALUES ('validations.execute', :org_id, :run_id, 1);
COMMIT;
