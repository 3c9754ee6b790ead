BEGIN;
UPDATE validation_runs SET state = 'RUNNING', epoch = epoch + 1, attempts = attempts + 1, started_at = now(),
    lease_until = now() + interval '1 minute', sweep_after = now() + interval '1 minute'
WHERE org_id = :org_id AND id = :run_id AND state = 'PENDING';
DELETE FROM staged_jobs WHERE id = (SELECT lastval());
COMMIT;
SELECT s.content, d.body
FROM validation_runs AS r
JOIN submissions AS s ON s.org_id = r.org_id AND s.id = r.submission_id
JOIN definitions AS d ON d.org_id = r.org_id AND d.digest = r.definition_digest
WHERE r.org_id = :org_id AND r.id = :run_id;
BEGIN;
INSERT INTO step_runs (org_id, id, run_id, ordinal, step_id, name, status, error_count, warning_count, info_count,
    truncated, started_at, ended_at)
VALUES (:org_id, gen_random_uuid(), :run_id, 0, 'table', 'Table', 'PASSED', 0, 0, 0, false, now(), now());
UPDATE validation_runs SET state = 'COMPLETED', result = 'PASS', recovery_point = 1, ended_at = now(),
    lease_until = NULL, sweep_after = NULL
WHERE org_id = :org_id AND id = :run_id AND state = 'RUNNING';
COMMIT;
