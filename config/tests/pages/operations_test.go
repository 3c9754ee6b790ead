package pages

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/google/uuid"
	"github.com/hibiken/asynq"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/tasks"
)

const operationsPage = "/app/operations/"

// operator signs an operator in.
func (s *stage) operator(tb testing.TB) string {
	tb.Helper()
	id := s.AddMember(tb, "operator-"+uuid.NewString(), api.RoleViewer)
	if err := s.Users.SetOperator(tb.Context(), id, true); err != nil {
		tb.Fatal(err)
	}
	return s.Session(tb, id)
}

// accessToOperations are hidden from all members, whatever their role.
func accessToOperations() map[string]fixture.Access {
	hidden := func(c call) fixture.Access {
		return fixture.Access{Call: c, Least: api.RoleViewer, OK: http.StatusNotFound, Foreign: http.StatusNotFound}
	}
	return map[string]fixture.Access{
		"GET /app/operations/":  hidden(fixture.Page(operationsPage, "")),
		"POST /app/operations/": hidden(fixture.Post(operationsPage, "", nil)),
	}
}

// deadLetter stages a job that the queue has refused too often, and returns its id.
func (s *stage) deadLetter(tb testing.TB, reason string) string {
	tb.Helper()
	return coretest.One[string](tb, s.DB, `
		INSERT INTO staged_jobs (kind, org_id, subject_id, epoch, attempts, due_at, last_error)
		VALUES ('run.execute', $1, gen_random_uuid(), 1, 10, now() + interval '1 year', $2)
		RETURNING id::text`, s.Harbour.ID, reason)
}

func TestOperationsPage(t *testing.T) {
	t.Parallel()
	s := setup(t)
	operator := s.operator(t)
	s.shows(t, fixture.Page(operationsPage, operator), "No key is stuck",
		"migrations applied, release "+fixture.Version, ">none<")

	s.strandedKey(t, hostile)
	s.deadLetter(t, "refused by hand")
	s.Started(t, s.Start(t, "").By(s.Tiny.Tokens.Executor))
	s.Exec(t, `UPDATE validation_runs SET sweeps = 2`)
	html := s.see(t, fixture.Page(operationsPage, operator))
	fixture.Shows(t, html, "<title>! 3 · Operations", "Abandoned", "Dead letter", "Late", "harbour-energy",
		"tiny-quota", "refused by hand", "&lt;script&gt;")
	fixture.Hides(t, html, "<script>alert")
	html = s.see(t, fixture.Page(operationsPage+"?q=By+HAND", operator))
	fixture.Shows(t, html, "1 of 3", "Dead letter")
	fixture.Hides(t, html, "Abandoned")
	s.shows(t, fixture.Page(operationsPage+"?q=nothing", operator), "No incident contains this text")
}

// failedTask puts a task of harbour into the queue that has failed for the last time, and returns its target.
func (s *stage) failedTask(tb testing.TB) string {
	tb.Helper()
	id := "run.execute:" + s.Harbour.ID.String() + ":" + uuid.NewString() + ":1"
	task := asynq.NewTask("run.execute", nil)
	if _, err := asynq.NewClientFromRedisClient(s.Queue).EnqueueContext(tb.Context(), task,
		asynq.TaskID(id), asynq.Queue(tasks.QueueJobs)); err != nil {
		tb.Fatal(err)
	}
	if err := asynq.NewInspectorFromRedisClient(s.Queue).ArchiveTask(tasks.QueueJobs, id); err != nil {
		tb.Fatal(err)
	}
	return "task:" + tasks.QueueJobs + ":" + id
}

// confirmed is an operation that was confirmed.
func confirmed(operator, action string, targets ...string) call {
	return fixture.Post(operationsPage, operator, url.Values{
		"action": {action}, "reason": {"by the runbook"}, "target": targets, "confirmed": {"true"},
	})
}

// actions are what the audit log has of operations, in their order.
const actions = `SELECT coalesce(string_agg(action, ' ' ORDER BY id), '') FROM audit_records
	WHERE action LIKE 'job.%'`

func TestOperationsOnFailedTasks(t *testing.T) {
	t.Parallel()

	t.Run("AreRecorded", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		operator := s.operator(t)
		retried, discarded := s.failedTask(t), s.failedTask(t)
		s.shows(t, fixture.Page(operationsPage, operator), retried, discarded)
		s.Visit(t, http.StatusSeeOther, confirmed(operator, "retry", retried))
		s.Visit(t, http.StatusSeeOther, confirmed(operator, "discard", discarded, retried))
		html := s.see(t, fixture.Page(operationsPage, operator))
		fixture.Shows(t, html, "No key is stuck")
		if got, want := coretest.One[string](t, s.DB, actions), "job.retry job.discard"; got != want {
			t.Errorf("audit = %s, want %s: a resolved incident is left out", got, want)
		}
	})

	t.Run("AreRecordedBeforeRedisIsChanged", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		operator := s.operator(t)
		first, second := s.failedTask(t), s.failedTask(t)
		s.Redis.Server().SetPreHook(func(peer *server.Peer, _ string, _ ...string) bool {
			var recorded bool
			err := s.DB.Pool.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM audit_records WHERE action = 'job.retry')
				AND NOT EXISTS (SELECT FROM audit_records WHERE action = 'job.retry_failed')`).Scan(&recorded)
			if err != nil || recorded {
				peer.WriteError("READONLY it has failed over")
			}
			return recorded
		})
		html := s.Visit(t, http.StatusServiceUnavailable, confirmed(operator, "retry", first, second))
		fixture.Shows(t, html, "0 tried again. 2 failed or were not confirmed", "READONLY", "by the runbook",
			" checked")
		if got, want := coretest.One[string](t, s.DB, actions), "job.retry job.retry_failed"; got != want {
			t.Errorf("audit = %s, want %s", got, want)
		}
		if n := coretest.One[int64](t, s.DB,
			`SELECT count(*) FROM audit_records WHERE org_id = $1 AND detail LIKE '%READONLY%'`,
			s.Harbour.ID); n != 1 {
			t.Errorf("%d records tell why, want 1", n)
		}
	})

	t.Run("AreNotDoneWithoutARecord", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		operator := s.operator(t)
		failed := s.failedTask(t)
		s.Exec(t, `ALTER TABLE audit_records ADD CONSTRAINT ck_refuses CHECK (action <> 'job.discard')`)
		html := s.Visit(t, http.StatusServiceUnavailable, confirmed(operator, "discard", failed))
		fixture.Shows(t, html, "0 discarded.", failed)
	})
}

func TestOperationsAreConfirmedAndRecorded(t *testing.T) {
	t.Parallel()
	s := setup(t)
	operator := s.operator(t)
	org := s.Harbour.ID.String()
	key := "key:" + org + ":" + s.strandedKey(t, "stranded").String()
	discarded := "job:" + org + ":" + s.deadLetter(t, "first")
	retried := "job:" + org + ":" + s.deadLetter(t, "second")
	do := func(action string, confirmed bool, targets ...string) call {
		form := url.Values{"action": {action}, "reason": {"by the runbook"}, "target": targets}
		if confirmed {
			form.Set("confirmed", "true")
		}
		return fixture.Post(operationsPage, operator, form)
	}

	refused := s.Visit(t, http.StatusBadRequest,
		fixture.Post(operationsPage, operator, url.Values{"action": {"retry"}, "target": {key}}))
	fixture.Shows(t, refused, `<a href="#reason">reason</a> must be given`, " checked")

	s.shows(t, do("discard", false, key, discarded), "Discard 1 incident?", "1 of the chosen incidents are left out",
		"by the runbook", discarded)
	if n := coretest.One[int64](t, s.DB, `SELECT count(*) FROM staged_jobs`); n != 2 {
		t.Fatalf("%d jobs are left before anything is confirmed, want 2", n)
	}
	s.Visit(t, http.StatusSeeOther, do("discard", true, key, discarded, "nonsense"))
	s.Visit(t, http.StatusSeeOther, do("retry", true, key, retried, discarded))

	if n := coretest.One[int64](t, s.DB,
		`SELECT count(*) FROM staged_jobs WHERE attempts = 0 AND due_at <= now()`); n != 1 {
		t.Errorf("%d jobs are due, want the one that is tried again", n)
	}
	const recorded = `SELECT string_agg(action, ' ' ORDER BY id) FROM audit_records
		WHERE org_id = $1 AND detail = 'by the runbook' AND actor_id IS NOT NULL`
	if got, want := coretest.One[string](t, s.DB, recorded, s.Harbour.ID),
		"job.discard idempotency_key.release job.retry"; got != want {
		t.Errorf("audit = %s, want %s", got, want)
	}
	s.shows(t, fixture.Page(operationsPage, operator), "No key is stuck")
}
