-- Returns a line for each organization whose rows are not those of its starts; $1 has how many were acknowledged. Every
-- start had a key of its own, which is still there unless $2 says that keys expire. Runs of the service are those from
-- the API, and the others are pgbench's. Strays are runs whose key does not lead back to them.
WITH counted AS (
    SELECT o.id, o.acknowledged, coalesce(r.runs, 0) AS runs, coalesce(r.started, 0) AS started,
        coalesce(r.strays, 0) AS strays, coalesce(k.keys, 0) AS keys, coalesce(u.used, 0) AS used
    FROM (
        SELECT id, ($1::bigint[])[row_number() OVER (ORDER BY id)] AS acknowledged FROM organizations
    ) AS o
    LEFT JOIN (
        SELECT run.org_id, count(*) AS runs, count(*) FILTER (WHERE run.source = 'API') AS started,
            count(*) FILTER (WHERE key.id IS NULL) AS strays
        FROM validation_runs AS run
        LEFT JOIN idempotency_keys AS key ON key.org_id = run.org_id AND key.id = run.idempotency_key_id
            AND key.validation_run_id = run.id
        GROUP BY run.org_id
    ) AS r ON r.org_id = o.id
    LEFT JOIN (
        SELECT org_id, count(*) AS keys FROM idempotency_keys WHERE user_agent <> 'expired' GROUP BY org_id
    ) AS k ON k.org_id = o.id
    LEFT JOIN (SELECT org_id, sum(used)::bigint AS used FROM usage_counters GROUP BY org_id) AS u ON u.org_id = o.id
)
SELECT format('organization %s has %s runs, %s keys, %s used, %s strays; the service acknowledged %s of its %s runs',
    id, runs, keys, used, strays, acknowledged, started)
FROM counted
WHERE runs <> used OR started IS DISTINCT FROM acknowledged OR NOT $2 AND (runs <> keys OR strays > 0)
ORDER BY id;
