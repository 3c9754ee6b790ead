\set org random(:first, :last)
SELECT id, org_id, key, endpoint, fingerprint_version, request_hash, target_digest, content_digest, options_digest,
    request_id, validation_run_id, recovery_point, expires_at, locked_until, response_status, response_headers,
    response_body
FROM idempotency_keys
WHERE org_id = (:org_prefix || lpad(:org::text, 12, '0'))::uuid AND key = :key_prefix || lpad(:org::text, 12, '0')
    AND endpoint = 'workflow_start';
