package program

import (
	"context"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core/coretest/outside"
	"github.com/simplevalidations/simplevalidations/core/db"
)

// invariant is a query that must not find anything. Each is one statement, so it sees one moment.
type invariant struct {
	name, query string
}

// always are the invariants that hold at any moment, also while others work.
func always() []invariant {
	return []invariant{
		{"a use of a key has at most one run", `
			SELECT org_id, idempotency_key_id, count(*) FROM validation_runs
			WHERE idempotency_key_id IS NOT NULL GROUP BY 1, 2 HAVING count(*) > 1`},
		{"a key of a run that was answered 201 has it, in the organization and the workflow that it was sent to", `
			SELECT k.key, k.request_path, k.validation_run_id FROM idempotency_keys AS k
			LEFT JOIN validation_runs AS r ON r.org_id = k.org_id AND r.id = k.validation_run_id
			WHERE k.response_status = 201 AND k.endpoint IN ('workflow_start', 'run_rerun') AND (r.id IS NULL
				OR r.idempotency_key_id IS DISTINCT FROM k.id OR r.idempotency_key <> k.key
				OR lower(k.request_path) NOT IN ('/api/workflows/' || r.workflow_slug || '/start/',
					'/api/workflows/' || r.workflow_id || '/start/', '/api/runs/' || r.rerun_of || '/rerun/'))`},
		{"the stored response is that of the run", `
			SELECT k.key, convert_from(k.response_body, 'UTF8') FROM idempotency_keys AS k
			JOIN validation_runs AS r ON r.org_id = k.org_id AND r.id = k.validation_run_id
			WHERE convert_from(k.response_body, 'UTF8')::json ->> 'id' <> r.id::text
				OR convert_from(k.response_body, 'UTF8')::json ->> 'workflow' <> r.workflow_id::text
				OR convert_from(k.response_body, 'UTF8')::json ->> 'submission' <> r.submission_id::text
				OR k.response_headers ->> 'location' <> '/api/runs/' || r.id || '/'`},
		{"a start leaves nothing half done behind", `
			SELECT key, recovery_point, locked_until FROM idempotency_keys
			WHERE recovery_point <> 'finished' OR response_status <> 201`},
		{"what is used is what was run, and never more than the quota", `
			SELECT * FROM usage_counters AS u FULL JOIN (
				SELECT org_id, usage_metric AS metric, usage_period AS period_start, count(*) AS runs
				FROM validation_runs GROUP BY 1, 2, 3) AS r USING (org_id, metric, period_start)
			WHERE coalesce(used, 0) <> coalesce(runs, 0) OR used > quota`},
		{"a run has its definition and its submission, whole until it is purged", `
			SELECT r.id FROM validation_runs AS r
			LEFT JOIN submissions AS s ON s.org_id = r.org_id AND s.id = r.submission_id
			LEFT JOIN definitions AS d ON d.org_id = r.org_id AND d.digest = r.definition_digest
			WHERE s.id IS NULL OR d.digest IS NULL
				OR (s.content IS NULL AND s.upload_id IS NULL) <> (r.content_purged_at IS NOT NULL)
				OR r.content_purged_at IS NULL AND s.sha256 IS DISTINCT FROM sha256(coalesce(s.content, (
					SELECT string_agg(c.bytes, ''::bytea ORDER BY c.first_byte) FROM upload_chunks AS c
					WHERE c.org_id = s.org_id AND c.upload_id = s.upload_id)))
				AND s.size IS DISTINCT FROM (SELECT sum(o.size) FROM upload_objects AS o
					WHERE o.org_id = s.org_id AND o.upload_id = s.upload_id)`},
		{"an upload is swept unless a submission has it", `
			SELECT u.id, u.sweep_after, s.id AS submission FROM uploads AS u
			LEFT JOIN submissions AS s ON s.org_id = u.org_id AND s.upload_id = u.id
			WHERE (u.sweep_after IS NULL) <> (s.id IS NOT NULL)`},
		{"a submission has its run", `
			SELECT s.id FROM submissions AS s WHERE NOT EXISTS (
				SELECT FROM validation_runs AS r WHERE r.org_id = s.org_id AND r.submission_id = s.id)`},
		{"a run was started once in the audit records", `
			SELECT target_id, r.id, count(*) FROM (
				SELECT target_id FROM audit_records WHERE action IN ('run.start', 'run.reserve', 'run.rerun')) AS a
			FULL JOIN validation_runs AS r ON r.id::text = a.target_id
			GROUP BY 1, 2 HAVING count(*) <> 1 OR target_id IS NULL OR r.id IS NULL`},
		{"the steps that are done come before those that are not", `
			SELECT r.id, r.recovery_point, max(s.ordinal), count(s.id) FROM validation_runs AS r
			LEFT JOIN step_runs AS s ON s.org_id = r.org_id AND s.run_id = r.id
			GROUP BY r.org_id, r.id HAVING count(s.id) <> r.recovery_point
				OR coalesce(max(s.ordinal) + 1, 0) <> r.recovery_point`},
		{"a run counts what its steps have found", `
			SELECT r.id FROM validation_runs AS r
			LEFT JOIN step_runs AS s ON s.org_id = r.org_id AND s.run_id = r.id
			GROUP BY r.org_id, r.id HAVING r.error_count <> coalesce(sum(s.error_count), 0)
				OR r.warning_count <> coalesce(sum(s.warning_count), 0)
				OR r.info_count <> coalesce(sum(s.info_count), 0)`},
		{"a step that lists everything lists what it counts", `
			SELECT s.run_id, s.ordinal FROM step_runs AS s
			JOIN validation_runs AS r ON r.org_id = s.org_id AND r.id = s.run_id
			LEFT JOIN findings AS f ON f.org_id = s.org_id AND f.run_id = s.run_id AND f.step_ordinal = s.ordinal
			WHERE NOT s.truncated AND r.findings_purged_at IS NULL
				GROUP BY s.run_id, s.ordinal, s.error_count, s.warning_count, s.info_count
			HAVING s.error_count <> coalesce(sum(f.count) FILTER (WHERE f.severity = 'ERROR'), 0)
				OR s.warning_count <> coalesce(sum(f.count) FILTER (WHERE f.severity = 'WARNING'), 0)
				OR s.info_count <> coalesce(sum(f.count) FILTER (WHERE f.severity = 'INFO'), 0)`},
		{"an event of a run's end is of the transaction that ended it, and the only one", `
			SELECT e.run_id, r.ended_at, json_agg(e.at) FROM events AS e
			LEFT JOIN validation_runs AS r ON r.org_id = e.org_id AND r.id = e.run_id
			WHERE e.type IN ('run.completed', 'run.canceled')
			GROUP BY e.run_id, r.ended_at HAVING count(*) > 1 OR min(e.at) IS DISTINCT FROM r.ended_at`},
		{"a delivery has its attempts, and ends with the last of them", `
			SELECT d.position, d.attempts, d.delivered, d.due_at, a.kept FROM webhook_deliveries AS d
			CROSS JOIN LATERAL (SELECT count(*) AS made, json_agg(reason ORDER BY number) AS kept
				FROM webhook_attempts WHERE org_id = d.org_id AND webhook_id = d.webhook_id
				AND position = d.position) AS a
			WHERE d.attempts <> a.made OR d.tries > 0 AND d.delivered <> (a.kept ->> -1 = '')`},
		{"a tick is done once", `SELECT job, tick, count(*) FROM job_ticks GROUP BY 1, 2 HAVING count(*) > 1`},
	}
}

// whileKept holds as long as no key has expired.
func whileKept() []invariant {
	return []invariant{
		{"a key has one run", `
			SELECT org_id, idempotency_key, count(*) FROM validation_runs
			WHERE idempotency_key <> '' GROUP BY 1, 2 HAVING count(*) > 1`},
		{"a run has its key", `
			SELECT r.id FROM validation_runs AS r WHERE idempotency_key <> '' AND NOT EXISTS (
				SELECT FROM idempotency_keys AS k WHERE k.org_id = r.org_id AND k.validation_run_id = r.id)`},
	}
}

// unsettled finds what keeps an installation from being at rest.
func unsettled() []invariant {
	return []invariant{
		{"every run is completed", `
			SELECT id, state, epoch, attempts, sweeps, lease_until, sweep_after, now() FROM validation_runs
			WHERE state <> 'COMPLETED'`},
		{"no job is staged", `SELECT * FROM staged_jobs`},
		{"every event is listed", `SELECT id, at, now() FROM events WHERE position IS NULL`},
		{"every delivery has ended", `SELECT * FROM webhook_deliveries WHERE due_at IS NOT NULL`},
		{"no webhook has its turn", `SELECT id, epoch, due_at, lease_until, now() FROM webhooks
			WHERE due_at <= now() AND disabled_at IS NULL`},
	}
}

// atRest are the invariants that hold in addition once everything has been done.
func atRest() []invariant {
	return append(unsettled(),
		invariant{"nobody holds a run", `SELECT id FROM validation_runs WHERE lease_until IS NOT NULL`},
		invariant{EndedByDocument, `
			SELECT id, result, error, attempts FROM validation_runs WHERE result NOT IN ('PASS', 'FAIL')`},
		invariant{"a completed run has a step", `
			SELECT id FROM validation_runs
			WHERE state = 'COMPLETED' AND result <> 'TIMED_OUT' AND recovery_point = 0`},
	)
}

// CheckInvariants demands what holds also while others work, so it may be called at any moment.
func CheckInvariants(tb testing.TB, database *db.DB) {
	tb.Helper()
	check(tb, database, always())
}

// CheckAtRest waits until everything has been done, and checks all that holds then as long as no key has expired.
func CheckAtRest(tb testing.TB, database *db.DB) {
	tb.Helper()
	CheckDone(tb, database)
	check(tb, database, whileKept())
}

// EndedByDocument is the invariant of CheckDone that does not hold where runs lose their time.
const EndedByDocument = "a run ended by its document and nothing else"

// CheckDone waits until everything has been done, and checks all that holds then but what is named.
func CheckDone(tb testing.TB, database *db.DB, but ...string) {
	tb.Helper()
	AwaitRest(tb, database)
	check(tb, database, always())
	check(tb, database, slices.DeleteFunc(atRest(), func(i invariant) bool { return slices.Contains(but, i.name) }))
}

func check(tb testing.TB, database *db.DB, all []invariant) {
	tb.Helper()
	for _, inv := range all {
		if found := violations(tb, database, inv); len(found) > 0 {
			tb.Errorf("broken: %s: %v", inv.name, found)
		}
	}
}

// AwaitRest waits until every run is completed and no job is staged.
func AwaitRest(tb testing.TB, database *db.DB) {
	tb.Helper()
	var left []string
	defer func() {
		if len(left) > 0 {
			tb.Logf("left to do: %v", left)
		}
	}()
	Await(tb, "everything is done", func() bool {
		left = nil
		for _, inv := range unsettled() {
			left = append(left, violations(tb, database, inv)...)
		}
		return len(left) == 0
	})
}

// CheckTold waits until nothing is left to deliver. It wants the receiver to have been told of each completed run, by
// one event however often that came, and of no other run.
func CheckTold(tb testing.TB, database *db.DB, receiver *outside.Receiver) {
	tb.Helper()
	AwaitRest(tb, database)
	rows, err := database.Pool.Query(tb.Context(), `SELECT id::text FROM validation_runs
		WHERE state = 'COMPLETED' AND org_id = (SELECT org_id FROM webhooks)`)
	if err != nil {
		tb.Fatal(err)
	}
	completed, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		tb.Fatal(err)
	}
	told, again := receiver.Told(), 0
	for _, run := range completed {
		if events := told[run]; len(events) != 1 {
			tb.Errorf("run %s was told of by the events %v, want one", run, events)
		}
		for _, times := range told[run] {
			again += times - 1
		}
		delete(told, run)
	}
	if len(told) != 0 || receiver.Refused() != 0 {
		tb.Errorf("told of %v, which are not completed, with %d requests refused", told, receiver.Refused())
	}
	tb.Logf("%d runs were told of, %d events came again", len(completed), again)
}

// violations returns the first rows that a query finds.
func violations(tb testing.TB, database *db.DB, inv invariant) []string {
	tb.Helper()
	// A clean-up may ask as well, when the test's context has ended.
	ctx := context.WithoutCancel(tb.Context())
	rows, err := database.Pool.Query(ctx, "SELECT to_json(v)::text FROM ("+inv.query+") AS v LIMIT 5")
	if err != nil {
		tb.Fatalf("check that %s: %v", inv.name, err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		tb.Fatalf("check that %s: %v", inv.name, err)
	}
	return found
}
