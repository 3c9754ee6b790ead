-- A benchmark that was killed may have left its rows where its folder could not be removed with it.
TRUNCATE organizations, users, submissions, validation_runs, idempotency_keys, staged_jobs, audit_records CASCADE;
INSERT INTO users (id, email) VALUES ('00000000-0000-7000-a000-000000000001', 'bench@example.com');
-- An organization's number is the end of its ids, so that pgbench can compute them.
INSERT INTO organizations (id, slug, name)
SELECT ('00000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, 'org-' || n, 'Organization ' || n
FROM generate_series(1, 1001) AS n;
INSERT INTO memberships (org_id, user_id, role)
SELECT o.id, u.id, 'executor' FROM organizations AS o, users AS u;
-- The database is private and ends with the benchmark, so the tokens are no secrets.
INSERT INTO api_tokens (org_id, id, user_id, digest, prefix, label, role)
SELECT o.id, gen_random_uuid(), u.id, sha256(('sv_bench-' || right(o.id::text, 12))::bytea), 'sv_bench-', 'benchmark',
    'executor'
FROM organizations AS o, users AS u;
INSERT INTO definitions (org_id, digest, body)
SELECT o.id, sha256(d.body), d.body
FROM organizations AS o, convert_to($1, 'UTF8') AS d (body);
INSERT INTO workflows (org_id, id, slug, name, latest_version)
SELECT id, ('00000000-0000-7000-9000-' || right(id::text, 12))::uuid, 'meter-readings', 'Meter readings', 1
FROM organizations;
INSERT INTO workflow_versions (org_id, workflow_id, number, definition_digest)
SELECT w.org_id, w.id, 1, d.digest FROM workflows AS w JOIN definitions AS d ON d.org_id = w.org_id;
