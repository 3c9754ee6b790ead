INSERT INTO idempotency_keys (org_id, id, key, endpoint, request_method, request_path, fingerprint_version,
    request_hash, target_digest, content_digest, options_digest, request_id, request_ip, user_agent,
    response_status, response_headers, response_body, recovery_point, created_at, expires_at)
SELECT o.id, ('01900000-0001-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, gen_random_uuid()::text, k.endpoint,
    k.request_method, k.request_path, k.fingerprint_version, k.request_hash, k.target_digest, k.content_digest,
    k.options_digest, gen_random_uuid()::text, k.request_ip, 'expired', k.response_status, k.response_headers,
    k.response_body, k.recovery_point, now() - interval '2 days', now() - interval '1 day' + n * interval '10 ms'
FROM generate_series($1::bigint, $2::bigint) AS n
JOIN organizations AS o ON o.slug = 'org-' || (n % 1000 + 1)
JOIN idempotency_keys AS k ON k.org_id = o.id AND k.key = 'replay-' || right(o.id::text, 12)
    AND k.endpoint = 'workflow_start'
