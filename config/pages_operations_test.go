package config_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/google/uuid"
	"github.com/hibiken/asynq"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/tasks"
)

const operationsPage = "/app/operations/"

// operator signs an operator in.
func (s *stage) operator(tb testing.TB) string {
	tb.Helper()
	id := s.addMember(tb, "operator-"+uuid.NewString(), core.RoleViewer)
	if err := s.Users.SetOperator(tb.Context(), id, true); err != nil {
		tb.Fatal(err)
	}
	return s.session(tb, id)
}

// accessToOperations are hidden from all members, whatever their role.
func accessToOperations() map[string]access {
	hidden := func(c call) access {
		return access{call: c, least: core.RoleViewer, ok: http.StatusNotFound, foreign: http.StatusNotFound}
	}
	return map[string]access{
		"GET /app/operations/":  hidden(page(operationsPage, "")),
		"POST /app/operations/": hidden(post(operationsPage, "", nil)),
	}
}

// deadLetter stages a job that the queue has refused too often, and returns its id.
func (s *stage) deadLetter(tb testing.TB, reason string) string {
	tb.Helper()
	return one[string](tb, s, `
		INSERT INTO staged_jobs (kind, org_id, subject_id, epoch, attempts, due_at, last_error)
		VALUES ('run.execute', $1, gen_random_uuid(), 1, 10, now() + interval '1 year', $2)
		RETURNING id::text`, s.Harbour.ID, reason)
}

func TestOperationsPage(t *testing.T) {
	t.Parallel()
	s := setup(t)
	operator := s.operator(t)
	shows(t, s.visit(t, http.StatusOK, page(operationsPage, operator)),
		"No key is stuck", "migrations applied, release "+version, "no worker takes tasks", ">none<")

	s.strandedKey(t, hostile)
	s.deadLetter(t, "refused by hand")
	s.started(t, s.start(t, "").by(s.Tiny.Tokens.Executor))
	s.exec(t, `UPDATE validation_runs SET sweeps = 2`)
	html := s.visit(t, http.StatusOK, page(operationsPage, operator))
	shows(t, html, "<title>! 3 · Operations", "Abandoned", "Dead letter", "Late", "harbour-energy", "tiny-quota",
		"refused by hand", "&lt;script&gt;")
	hides(t, html, "<script>alert")
	html = s.visit(t, http.StatusOK, page(operationsPage+"?q=By+HAND", operator))
	shows(t, html, "1 of 3", "Dead letter")
	hides(t, html, "Abandoned")
	shows(t, s.visit(t, http.StatusOK, page(operationsPage+"?q=nothing", operator)), "No incident contains this text")
}

// failedTask puts a task of harbour into the queue that has failed for the last time, and returns its target.
func (s *stage) failedTask(tb testing.TB) string {
	tb.Helper()
	queue, err := tasks.ParseRedisURL("redis://" + s.redis.Addr())
	if err != nil {
		tb.Fatal(err)
	}
	client := queue.Client()
	tb.Cleanup(func() { _ = client.Close() }) // Nothing is lost with it.
	id := "run.execute:" + s.Harbour.ID.String() + ":" + uuid.NewString() + ":1"
	task := asynq.NewTask("run.execute", nil)
	if _, err := asynq.NewClientFromRedisClient(client).EnqueueContext(tb.Context(), task,
		asynq.TaskID(id), asynq.Queue(tasks.QueueJobs)); err != nil {
		tb.Fatal(err)
	}
	if err := asynq.NewInspectorFromRedisClient(client).ArchiveTask(tasks.QueueJobs, id); err != nil {
		tb.Fatal(err)
	}
	return "task:" + tasks.QueueJobs + ":" + id
}

// confirmed is an operation that was confirmed.
func confirmed(operator, action string, targets ...string) call {
	return post(operationsPage, operator, url.Values{
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
		shows(t, s.visit(t, http.StatusOK, page(operationsPage, operator)), retried, discarded)
		s.visit(t, http.StatusSeeOther, confirmed(operator, "retry", retried))
		s.visit(t, http.StatusSeeOther, confirmed(operator, "discard", discarded, retried))
		html := s.visit(t, http.StatusOK, page(operationsPage, operator))
		shows(t, html, "No key is stuck")
		if got, want := one[string](t, s, actions), "job.retry job.discard"; got != want {
			t.Errorf("audit = %s, want %s: a resolved incident is left out", got, want)
		}
	})

	t.Run("AreRecordedBeforeRedisIsTold", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		operator := s.operator(t)
		first, second := s.failedTask(t), s.failedTask(t)
		s.redis.Server().SetPreHook(func(peer *server.Peer, _ string, _ ...string) bool {
			var recorded bool
			err := s.db.Pool.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM audit_records WHERE action = 'job.retry')
				AND NOT EXISTS (SELECT FROM audit_records WHERE action = 'job.retry_failed')`).Scan(&recorded)
			if err != nil || recorded {
				peer.WriteError("READONLY it has failed over")
			}
			return recorded
		})
		html := s.visit(t, http.StatusServiceUnavailable, confirmed(operator, "retry", first, second))
		shows(t, html, "0 tried again. 2 failed or were not confirmed", "READONLY", "by the runbook", " checked")
		if got, want := one[string](t, s, actions), "job.retry job.retry_failed"; got != want {
			t.Errorf("audit = %s, want %s", got, want)
		}
		if n := one[int64](t, s, `SELECT count(*) FROM audit_records WHERE org_id = $1 AND detail LIKE '%READONLY%'`,
			s.Harbour.ID); n != 1 {
			t.Errorf("%d records tell why, want 1", n)
		}
	})

	t.Run("AreNotDoneWithoutARecord", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		operator := s.operator(t)
		failed := s.failedTask(t)
		s.exec(t, `ALTER TABLE audit_records ADD CONSTRAINT ck_refuses CHECK (action <> 'job.discard')`)
		html := s.visit(t, http.StatusServiceUnavailable, confirmed(operator, "discard", failed))
		shows(t, html, "0 discarded.", failed)
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
		return post(operationsPage, operator, form)
	}

	refused := s.visit(t, http.StatusBadRequest,
		post(operationsPage, operator, url.Values{"action": {"retry"}, "target": {key}}))
	shows(t, refused, `<a href="#reason">reason</a> must be given`, " checked")

	shows(t, s.visit(t, http.StatusOK, do("discard", false, key, discarded)),
		"Discard 1 incident?", "1 of the chosen incidents are left out", "by the runbook", discarded)
	if n := one[int64](t, s, `SELECT count(*) FROM staged_jobs`); n != 2 {
		t.Fatalf("%d jobs are left before anything is confirmed, want 2", n)
	}
	s.visit(t, http.StatusSeeOther, do("discard", true, key, discarded, "nonsense"))
	s.visit(t, http.StatusSeeOther, do("retry", true, key, retried, discarded))

	if n := one[int64](t, s, `SELECT count(*) FROM staged_jobs WHERE attempts = 0 AND due_at <= now()`); n != 1 {
		t.Errorf("%d jobs are due, want the one that is tried again", n)
	}
	const recorded = `SELECT string_agg(action, ' ' ORDER BY id) FROM audit_records
		WHERE org_id = $1 AND detail = 'by the runbook' AND actor_id IS NOT NULL`
	if got, want := one[string](t, s, recorded, s.Harbour.ID),
		"job.discard idempotency_key.release job.retry"; got != want {
		t.Errorf("audit = %s, want %s", got, want)
	}
	shows(t, s.visit(t, http.StatusOK, page(operationsPage, operator)), "No key is stuck")
}
