WITH place AS MATERIALIZED (
    SELECT n, o.id AS org_id, ('01900000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid AS id,
        now() - n * interval '10 ms' AS at, k.id AS first_key, k.validation_run_id AS first_run
    FROM generate_series($1::bigint, $2::bigint) AS n
    JOIN organizations AS o ON o.slug = 'org-' || CASE n % 2 WHEN 0 THEN 1001 ELSE n / 2 % 1000 + 1 END
    JOIN idempotency_keys AS k ON k.org_id = o.id AND k.key = 'replay-' || right(o.id::text, 12)
        AND k.endpoint = 'workflow_start'
),
documents AS (
    INSERT INTO submissions (org_id, id, media_type, filename, size, sha256, content)
    SELECT p.org_id, p.id, s.media_type, s.filename, s.size, s.sha256, s.content
    FROM place AS p
    JOIN validation_runs AS r ON r.org_id = p.org_id AND r.id = p.first_run
    JOIN submissions AS s ON s.org_id = p.org_id AND s.id = r.submission_id
),
runs AS (
    INSERT INTO validation_runs (org_id, id, workflow_id, workflow_version, workflow_slug, definition_digest,
        submission_id, source, state, result, error_category, error_count, recovery_point, usage_metric, usage_period,
        idempotency_key, idempotency_key_id, request_id, created_at, started_at, ended_at)
    SELECT p.org_id, p.id, r.workflow_id, r.workflow_version, r.workflow_slug, r.definition_digest, p.id, 'CLI',
        'COMPLETED', CASE p.n % 10 WHEN 0 THEN 'FAIL' ELSE 'PASS' END,
        CASE p.n % 10 WHEN 0 THEN 'VALIDATION_FAILED' ELSE '' END, CASE p.n % 10 WHEN 0 THEN 1 ELSE 0 END, 1,
        r.usage_metric, r.usage_period, gen_random_uuid()::text, p.id, gen_random_uuid()::text, p.at, p.at, p.at
    FROM place AS p JOIN validation_runs AS r ON r.org_id = p.org_id AND r.id = p.first_run
),
records AS (
    INSERT INTO audit_records (org_id, id, actor_id, action, target_type, target_id, request_id, created_at)
    SELECT org_id, id, (SELECT id FROM users LIMIT 1), 'run.start', 'run', id::text, gen_random_uuid()::text, at
    FROM place
),
used AS (
    UPDATE usage_counters AS u SET used = u.used + p.runs
    FROM (SELECT org_id, count(*) AS runs FROM place GROUP BY org_id) AS p WHERE u.org_id = p.org_id
)
INSERT INTO idempotency_keys (org_id, id, key, endpoint, request_method, request_path, fingerprint_version,
    request_hash, target_digest, content_digest, options_digest, request_id, request_ip, user_agent,
    response_status, response_headers, response_body, validation_run_id, recovery_point, created_at, expires_at,
    finished_at)
SELECT p.org_id, p.id, gen_random_uuid()::text, k.endpoint, k.request_method, k.request_path, k.fingerprint_version,
    k.request_hash, k.target_digest, k.content_digest, k.options_digest, gen_random_uuid()::text, k.request_ip,
    k.user_agent, k.response_status, k.response_headers, k.response_body, p.id, k.recovery_point, p.at,
    now() + interval '1 day', p.at
FROM place AS p JOIN idempotency_keys AS k ON k.org_id = p.org_id AND k.id = p.first_key
