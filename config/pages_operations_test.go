package config_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
)

const operationsPage = "/app/operations/"

// operator signs somebody in who runs the installation.
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

// parkedJob stages a job that the queue has refused too often, and returns its id.
func (s *stage) parkedJob(tb testing.TB, reason string) string {
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
		"everything gets on", "migrations applied, release "+version, "nobody takes tasks", "No key is stuck")

	s.strandedKey(t, hostile)
	s.parkedJob(t, "refused by hand")
	s.started(t, s.start(t, "").by(s.Tiny.Tokens.Executor))
	s.exec(t, `UPDATE validation_runs SET sweeps = 2`)
	html := s.visit(t, http.StatusOK, page(operationsPage, operator))
	shows(t, html, "<title>! 3 · Operations", "Abandoned", "Parked", "Late", "harbour-energy", "tiny-quota",
		"refused by hand", "&lt;script&gt;")
	hides(t, html, "<script>alert")
	html = s.visit(t, http.StatusOK, page(operationsPage+"?q=By+HAND", operator))
	shows(t, html, "1 of 3", "Parked")
	hides(t, html, "Abandoned")
	shows(t, s.visit(t, http.StatusOK, page(operationsPage+"?q=nothing", operator)), "Nothing of that needs a person")
}

func TestOperationsAreConfirmedAndRecorded(t *testing.T) {
	t.Parallel()
	s := setup(t)
	operator := s.operator(t)
	org := s.Harbour.ID.String()
	key := "key:" + org + ":" + s.strandedKey(t, "stranded").String()
	discarded := "job:" + org + ":" + s.parkedJob(t, "first")
	retried := "job:" + org + ":" + s.parkedJob(t, "second")
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
		"Discard 1 thing?", "1 of those chosen are left alone", "by the runbook", discarded)
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
	shows(t, s.visit(t, http.StatusOK, page(operationsPage, operator)), "everything gets on")
}
