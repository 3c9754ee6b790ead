package api

import (
	"bytes"
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/coretest/outside"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
)

// overageStage is a stage with a billing service, whose harbour has a quota of none and may go beyond it.
type overageStage struct {
	*stage

	billing *outside.Billing
}

func setupOverage(tb testing.TB) overageStage {
	tb.Helper()
	s, service := fixture.SetupBilled(tb)
	return overageStage{stage: &stage{s}, billing: service}
}

// books are what starts beyond the quota leave behind.
type books struct {
	Used, Overage, Runs, Staged, Reserved, Unfinished int64
	Charges, Refused                                  int
}

func (s overageStage) books(tb testing.TB) books {
	tb.Helper()
	rows, err := s.DB.Pool.Query(tb.Context(), `
		SELECT (SELECT coalesce(sum(used) FILTER (WHERE metric = 'runs'), 0)::bigint FROM usage_counters),
			(SELECT coalesce(sum(used) FILTER (WHERE metric = 'runs_overage'), 0)::bigint FROM usage_counters),
			(SELECT count(*) FROM validation_runs), (SELECT count(*) FROM staged_jobs),
			(SELECT count(*) FROM validation_runs WHERE sweep_after = 'infinity'),
			(SELECT count(*) FROM idempotency_keys WHERE recovery_point <> 'finished' OR locked_until IS NOT NULL),
			$1::integer, $2::integer`, len(s.billing.Charges()), s.billing.Refused())
	if err != nil {
		tb.Fatal(err)
	}
	found, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByPos[books])
	if err != nil {
		tb.Fatal(err)
	}
	return found
}

func (s overageStage) wantBooks(tb testing.TB, want books) {
	tb.Helper()
	if diff := cmp.Diff(want, s.books(tb)); diff != "" {
		tb.Errorf("books (-want +got):\n%s", diff)
	}
}

// wantOneRun checks that one run was started, charged and staged, and executes it.
func (s overageStage) wantOneRun(tb testing.TB) {
	tb.Helper()
	s.wantBooks(tb, books{Overage: 1, Runs: 1, Staged: 1, Charges: 1})
	s.Work(tb)
	const passed = `SELECT count(*) FROM validation_runs WHERE state = 'COMPLETED' AND result = 'PASS'
		AND usage_metric = 'runs_overage' AND usage_period = date_trunc('month', now() AT TIME ZONE 'UTC')`
	if got := coretest.One[int64](tb, s.DB, passed); got != 1 {
		tb.Errorf("passed runs beyond the quota = %d, want 1", got)
	}
}

// wantFirst checks a first answer with a run.
func wantFirst(tb testing.TB, got answer) api.Run {
	tb.Helper()
	if got.Status != http.StatusCreated {
		tb.Fatalf("status = %d, want 201; body %s", got.Status, got.Body)
	}
	fixture.WantHeader(tb, got, map[string]string{"Idempotent-Replayed": ""})
	return fixture.Decoded[api.Run](tb, got)
}

func (s overageStage) point(tb testing.TB) string {
	tb.Helper()
	return coretest.One[string](tb, s.DB, `SELECT recovery_point FROM idempotency_keys`)
}

func TestOverage(t *testing.T) {
	t.Parallel()

	t.Run("ChargesAndStartsOnce", func(t *testing.T) {
		t.Parallel()
		s := setupOverage(t)
		first := s.Do(t, s.Start(t, "beyond"))
		run := wantFirst(t, first)
		key := coretest.One[uuid.UUID](t, s.DB, `SELECT id FROM idempotency_keys WHERE key = 'beyond'`)
		charge := s.billing.Charges()[0]
		if charge.Key != "sv-charge-"+key.String() || charge.RunID != run.ID ||
			charge.OrgID != s.Harbour.ID.String() || charge.Metric != "runs_overage" {
			t.Errorf("charge = %+v, want that of run %s with key sv-charge-%s", charge, run.ID, key)
		}
		fixture.WantReplay(t, first, s.Do(t, s.Start(t, "beyond")))
		if calls := s.billing.Attempts(); calls != 1 {
			t.Errorf("calls of the billing service = %d, want 1", calls)
		}
		s.wantOneRun(t)
		fixture.WantReplay(t, first, s.Do(t, s.Start(t, "beyond")))
	})

	t.Run("AnswersAsWithinTheQuota", func(t *testing.T) {
		t.Parallel()
		s := setupOverage(t)
		beyond := s.Must(t, http.StatusCreated, s.Start(t, "beyond"))
		within := s.Must(t, http.StatusCreated, s.Start(t, "within").By(s.Tiny.Tokens.Executor))
		got, want := fixture.Decoded[api.Run](t, beyond), fixture.Decoded[api.Run](t, within)
		got.ID, got.Submission, got.Workflow, got.Org, got.CreatedAt, got.IdempotencyKey =
			want.ID, want.Submission, want.Workflow, want.Org, want.CreatedAt, want.IdempotencyKey
		for i := range got.Steps {
			got.Steps[i].StepID = want.Steps[i].StepID
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("run (-within +beyond):\n%s", diff)
		}
	})

	t.Run("LeavesStartsWithinTheQuotaAlone", func(t *testing.T) {
		t.Parallel()
		s := setupOverage(t)
		s.Exec(t, `UPDATE organizations SET overage_billing = true`)
		for _, key := range []string{"1", "2", "3", ""} {
			if calls := s.billing.Attempts(); calls != 0 {
				t.Errorf("calls of the billing service before %q = %d, want none", key, calls)
			}
			wantFirst(t, s.Do(t, s.Start(t, key).By(s.Tiny.Tokens.Executor)))
		}
		got := s.Do(t, s.Start(t, "").By(s.Tiny.Tokens.Executor))
		wantFirst(t, got)
		// The key of the service's own is none of the client's.
		fixture.WantHeader(t, got, map[string]string{"Idempotency-Expires": ""})
		s.wantBooks(t, books{Used: 3, Overage: 2, Runs: 5, Staged: 5, Charges: 2})
	})

	t.Run("WaitsForTheRunWhereTheClientPrefersTo", func(t *testing.T) {
		t.Parallel()
		s := setupOverage(t)
		s.Waits(t)
		run := wantFirst(t, s.whileWorking(t, s.Start(t, "wait").With("Prefer", "wait=20")))
		if run.State != api.RunStateCompleted || run.Result != api.RunResultPass {
			t.Errorf("run = %s %s, want COMPLETED PASS", run.State, run.Result)
		}
	})

	t.Run("IsAuditedAsReserved", func(t *testing.T) {
		t.Parallel()
		s := setupOverage(t)
		run := wantFirst(t, s.Do(t, s.Start(t, "audit")))
		got := coretest.One[string](t, s.DB, `SELECT action FROM audit_records WHERE target_id = $1`, run.ID)
		if got != "run.reserve" {
			t.Errorf("action = %s, want run.reserve", got)
		}
	})
}

func TestOverageIsOff(t *testing.T) {
	t.Parallel()

	t.Run("ForTheOrganization", func(t *testing.T) {
		t.Parallel()
		s := setupOverage(t)
		s.Exec(t, `UPDATE organizations SET overage_billing = false`)
		s.Refused(t, api.CodeQuotaExceeded, s.Start(t, "off"))
		s.wantBooks(t, books{})
	})

	t.Run("WithoutABillingService", func(t *testing.T) {
		t.Parallel()
		s := overageStage{stage: setup(t), billing: outside.NewBilling("")}
		s.Exec(t, `UPDATE organizations SET run_quota = 0, overage_billing = true`)
		s.Refused(t, api.CodeQuotaExceeded, s.Start(t, "none"))
		s.wantBooks(t, books{})
	})
}

func TestOverageDeclined(t *testing.T) {
	t.Parallel()

	for name, prefer := range map[string]string{"Stored": "", "StoredWhereTheClientPrefersToWait": "wait=5"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := setupOverage(t)
			s.Waits(t)
			s.billing.Script(outside.Decline)
			c := s.Start(t, "poor")
			if prefer != "" {
				c = c.With("Prefer", prefer)
			}
			first := s.Do(t, c)
			if problem := fixture.WantProblem(t, first, api.CodePaymentRequired); problem.Retryable {
				t.Error("retryable = true, want false")
			}
			fixture.WantHeader(t, first, map[string]string{"Idempotent-Replayed": "", "Location": ""})
			fixture.WantReplay(t, first, s.Do(t, c))
			if calls := s.billing.Attempts(); calls != 1 {
				t.Errorf("calls of the billing service = %d, want 1", calls)
			}
			s.wantBooks(t, books{Runs: 1, Charges: 1})
			const canceled = `SELECT count(*) FROM validation_runs WHERE state = 'COMPLETED' AND result = 'CANCELED'
				AND usage_metric = '' AND sweep_after IS NULL AND ended_at IS NOT NULL`
			if got := coretest.One[int64](t, s.DB, canceled); got != 1 {
				t.Errorf("canceled runs = %d, want 1", got)
			}
		})
	}

	t.Run("WithoutKeyIsAnsweredTheSame", func(t *testing.T) {
		t.Parallel()
		s := setupOverage(t)
		s.billing.Script(outside.Decline)
		got := s.Do(t, s.Start(t, ""))
		fixture.WantProblem(t, got, api.CodePaymentRequired)
		fixture.WantHeader(t, got, map[string]string{"Idempotency-Expires": ""})
		s.wantBooks(t, books{Runs: 1, Charges: 1})
	})

	t.Run("AfterTheFirstRequestGotNoAnswer", func(t *testing.T) {
		t.Parallel()
		s := setupOverage(t)
		s.billing.Script(outside.FailBefore, outside.Decline)
		c := s.Start(t, "poor later")
		s.Refused(t, api.CodeUnavailable, c.With("Request-Id", "the-first"))
		declined := s.Do(t, c)
		if declined.Status != http.StatusPaymentRequired {
			t.Fatalf("status = %d, want 402; body %s", declined.Status, declined.Body)
		}
		fixture.WantHeader(t, declined,
			map[string]string{"Idempotent-Replayed": "", "Original-Request-Id": "the-first"})
		if replayed := s.Do(t, c); !bytes.Equal(replayed.Body, declined.Body) {
			t.Errorf("replay = %s, want %s", replayed.Body, declined.Body)
		}
		s.wantBooks(t, books{Runs: 1, Charges: 1})
	})
}

func TestOverageInterrupted(t *testing.T) {
	t.Parallel()
	acted := map[outside.Behavior]int{
		outside.FailBefore: 0, outside.DropBefore: 0, outside.Redirect: 0,
		outside.FailAfter: 1, outside.Babble: 1, outside.Truncate: 1, outside.DropAfter: 1,
	}
	for behavior, charges := range acted {
		t.Run(string(behavior), func(t *testing.T) {
			t.Parallel()
			s := setupOverage(t)
			// Usually and not once: a dropped connection makes the transport try again by itself.
			s.billing.Usually(behavior)
			c := s.Start(t, "again")
			problem := fixture.WantProblem(t, s.Do(t, c), api.CodeUnavailable)
			if !problem.Retryable || !strings.Contains(problem.Detail, "same key") {
				t.Errorf("problem = %+v, want a retry with the same key", problem)
			}
			if got := s.point(t); got != "run_reserved" {
				t.Errorf("recovery point = %s, want run_reserved", got)
			}
			s.wantBooks(t, books{Runs: 1, Reserved: 1, Unfinished: 1, Charges: charges})
			s.Refused(t, api.CodeKeyReused, c.With("X-Filename", "another.csv"))
			s.billing.Usually(outside.Accept)
			first := s.Do(t, c)
			wantFirst(t, first)
			s.wantOneRun(t)
			again := s.Do(t, c)
			if again.Status != first.Status || !bytes.Equal(again.Body, first.Body) {
				t.Errorf("replay = %d %s, want %d %s", again.Status, again.Body, first.Status, first.Body)
			}
			fixture.WantHeader(t, again, map[string]string{"Idempotent-Replayed": "true"})
		})
	}
}

func TestOverageWithoutKey(t *testing.T) {
	t.Parallel()
	s := setupOverage(t)
	s.billing.Usually(outside.FailAfter)
	got := s.Do(t, s.Start(t, ""))
	problem := fixture.WantProblem(t, got, api.CodeUnavailable)
	run := coretest.One[uuid.UUID](t, s.DB, `SELECT id FROM validation_runs`)
	if problem.Retryable || problem.RunID != run.String() {
		t.Errorf("problem = %+v, want not retryable with run %s", problem, run)
	}
	fixture.WantHeader(t, got, map[string]string{"Idempotency-Key": "", "Idempotency-Expires": ""})
	s.billing.Usually(outside.Accept)
	if n, err := s.Completer.RunOnce(t.Context()); n != 1 || err != nil {
		t.Errorf("completer = %d, %v, want 1", n, err)
	}
	s.wantOneRun(t)
	if n, err := s.Completer.RunOnce(t.Context()); n != 0 || err != nil {
		t.Errorf("completer = %d, %v, want nothing left", n, err)
	}
}

// The service goes on when the client hangs up, be it the first request or the one that resumes it.
func TestOverageAbandoned(t *testing.T) {
	t.Parallel()
	for name, interrupted := range map[string]bool{"AtFirst": false, "WhenResumed": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := setupOverage(t)
			if interrupted {
				s.billing.Usually(outside.FailBefore)
				s.Refused(t, api.CodeUnavailable, s.Start(t, "gone"))
				s.billing.Usually(outside.Accept)
			}
			charging, release := s.hold(t)
			ctx, hangUp := context.WithCancel(t.Context())
			var request sync.WaitGroup
			request.Go(func() { _, _ = s.Send(ctx, s.Start(t, "gone")) }) // It is hung up on.
			<-charging
			hangUp()
			request.Wait()
			s.Refused(t, api.CodeKeyInProgress, s.Start(t, "gone"))
			release()
			coretest.Eventually(t, func() bool { return s.point(t) == string(idempotency.PointFinished) })
			s.wantOneRun(t)
		})
	}
}

// hold makes the billing service hang. The first function's channel tells that it does.
func (s overageStage) hold(tb testing.TB) (<-chan struct{}, func()) {
	tb.Helper()
	charging, free := make(chan struct{}), make(chan struct{})
	say, release := sync.OnceFunc(func() { close(charging) }), sync.OnceFunc(func() { close(free) })
	s.billing.Watch(func(outside.Moment, outside.Charge) { say(); <-free })
	tb.Cleanup(release)
	return charging, release
}
