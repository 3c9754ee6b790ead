package config_test

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/config"
	"github.com/simplevalidations/simplevalidations/core"
	dbtest "github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/coretest/billing"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
	"github.com/simplevalidations/simplevalidations/validations"
)

// overageStage is a stage with a billing service, whose harbour has a quota of none and may go beyond it.
type overageStage struct {
	*stage

	billing *billing.Server
}

func setupOverage(tb testing.TB) overageStage {
	tb.Helper()
	const secret = "of the billing service"
	service := billing.New(secret)
	listener := httptest.NewServer(service)
	tb.Cleanup(listener.Close)
	s := overageStage{billing: service, stage: setup(tb, func(settings *config.Settings) {
		settings.BillingURL, settings.BillingSecret = config.Secret(listener.URL), secret
	})}
	s.exec(tb, `UPDATE organizations SET run_quota = 0, overage_billing = true WHERE id = $1`, s.Harbour.ID)
	return s
}

// books are what starts beyond the quota leave behind.
type books struct {
	Used, Overage, Runs, Staged, Reserved, Unfinished int64
	Charges, Refused                                  int
}

func (s overageStage) books(tb testing.TB) books {
	tb.Helper()
	rows, err := s.db.Pool.Query(tb.Context(), `
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
	s.work(tb)
	const passed = `SELECT count(*) FROM validation_runs WHERE state = 'COMPLETED' AND result = 'PASS'
		AND usage_metric = 'runs_overage' AND usage_period = date_trunc('month', now() AT TIME ZONE 'UTC')`
	if got := one[int64](tb, s.stage, passed); got != 1 {
		tb.Errorf("passed runs beyond the quota = %d, want 1", got)
	}
}

// wantFirst checks a first answer with a run.
func wantFirst(tb testing.TB, got answer) validations.RunBody {
	tb.Helper()
	if got.status != http.StatusCreated {
		tb.Fatalf("status = %d, want 201; body %s", got.status, got.body)
	}
	wantHeader(tb, got, map[string]string{"Idempotent-Replayed": ""})
	return decoded[validations.RunBody](tb, got)
}

func (s overageStage) point(tb testing.TB) string {
	tb.Helper()
	return one[string](tb, s.stage, `SELECT recovery_point FROM idempotency_keys`)
}

func TestOverage(t *testing.T) {
	t.Parallel()

	t.Run("ChargesAndStartsOnce", func(t *testing.T) {
		t.Parallel()
		s := setupOverage(t)
		first := s.do(t, s.start(t, "beyond"))
		run := wantFirst(t, first)
		key := one[uuid.UUID](t, s.stage, `SELECT id FROM idempotency_keys WHERE key = 'beyond'`)
		charge := s.billing.Charges()[0]
		if charge.Key != "sv-charge-"+key.String() || charge.RunID != run.ID.String() ||
			charge.OrgID != s.Harbour.ID.String() || charge.Metric != "runs_overage" {
			t.Errorf("charge = %+v, want that of run %s with key sv-charge-%s", charge, run.ID, key)
		}
		wantReplay(t, first, s.do(t, s.start(t, "beyond")))
		if calls := s.billing.Calls(); calls != 1 {
			t.Errorf("calls of the billing service = %d, want 1", calls)
		}
		s.wantOneRun(t)
		wantReplay(t, first, s.do(t, s.start(t, "beyond")))
	})

	t.Run("AnswersAsWithinTheQuota", func(t *testing.T) {
		t.Parallel()
		s := setupOverage(t)
		beyond := s.must(t, http.StatusCreated, s.start(t, "beyond"))
		within := s.must(t, http.StatusCreated, s.start(t, "within").by(s.Tiny.Tokens.Executor))
		got, want := decoded[validations.RunBody](t, beyond), decoded[validations.RunBody](t, within)
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
		s.exec(t, `UPDATE organizations SET overage_billing = true`)
		for _, key := range []string{"1", "2", "3", ""} {
			if calls := s.billing.Calls(); calls != 0 {
				t.Errorf("calls of the billing service before %q = %d, want none", key, calls)
			}
			wantFirst(t, s.do(t, s.start(t, key).by(s.Tiny.Tokens.Executor)))
		}
		s.wantBooks(t, books{Used: 3, Overage: 1, Runs: 4, Staged: 4, Charges: 1})
	})

	t.Run("WaitsForTheRunWhereTheClientPrefersTo", func(t *testing.T) {
		t.Parallel()
		s := setupOverage(t)
		s.waits(t)
		run := wantFirst(t, s.whileWorking(t, s.start(t, "wait").with("Prefer", "wait=20")))
		if run.State != validations.StateCompleted || run.Result != validations.ResultPass {
			t.Errorf("run = %s %s, want COMPLETED PASS", run.State, run.Result)
		}
	})

	t.Run("IsAuditedAsReserved", func(t *testing.T) {
		t.Parallel()
		s := setupOverage(t)
		run := wantFirst(t, s.do(t, s.start(t, "audit")))
		got := one[string](t, s.stage, `SELECT action FROM audit_records WHERE target_id = $1`, run.ID.String())
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
		s.exec(t, `UPDATE organizations SET overage_billing = false`)
		s.refused(t, core.CodeQuotaExceeded, s.start(t, "off"))
		s.wantBooks(t, books{})
	})

	t.Run("WithoutABillingService", func(t *testing.T) {
		t.Parallel()
		s := overageStage{stage: setup(t), billing: billing.New("")}
		s.exec(t, `UPDATE organizations SET run_quota = 0, overage_billing = true`)
		s.refused(t, core.CodeQuotaExceeded, s.start(t, "none"))
		s.wantBooks(t, books{})
	})
}

func TestOverageDeclined(t *testing.T) {
	t.Parallel()

	for name, prefer := range map[string]string{"Stored": "", "StoredWhereTheClientPrefersToWait": "wait=5"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := setupOverage(t)
			s.waits(t)
			s.billing.Script(billing.Decline)
			c := s.start(t, "poor")
			if prefer != "" {
				c = c.with("Prefer", prefer)
			}
			first := s.do(t, c)
			if problem := wantProblem(t, first, core.CodePaymentRequired); problem.Retryable {
				t.Error("retryable = true, want false")
			}
			wantHeader(t, first, map[string]string{"Idempotent-Replayed": "", "Location": ""})
			wantReplay(t, first, s.do(t, c))
			if calls := s.billing.Calls(); calls != 1 {
				t.Errorf("calls of the billing service = %d, want 1", calls)
			}
			s.wantBooks(t, books{Runs: 1, Charges: 1})
			const canceled = `SELECT count(*) FROM validation_runs WHERE state = 'COMPLETED' AND result = 'CANCELED'
				AND usage_metric = '' AND sweep_after IS NULL AND ended_at IS NOT NULL`
			if got := one[int64](t, s.stage, canceled); got != 1 {
				t.Errorf("canceled runs = %d, want 1", got)
			}
		})
	}

	t.Run("KeylessIsToldTheSame", func(t *testing.T) {
		t.Parallel()
		s := setupOverage(t)
		s.billing.Script(billing.Decline)
		got := s.do(t, s.start(t, ""))
		wantProblem(t, got, core.CodePaymentRequired)
		wantHeader(t, got, map[string]string{"Idempotency-Expires": ""})
		s.wantBooks(t, books{Runs: 1, Charges: 1})
	})

	t.Run("AfterTheFirstRequestGotNoAnswer", func(t *testing.T) {
		t.Parallel()
		s := setupOverage(t)
		s.billing.Script(billing.FailBefore, billing.Decline)
		c := s.start(t, "poor later")
		s.refused(t, core.CodeUnavailable, c.with("Request-Id", "the-first"))
		declined := s.do(t, c)
		if declined.status != http.StatusPaymentRequired {
			t.Fatalf("status = %d, want 402; body %s", declined.status, declined.body)
		}
		wantHeader(t, declined, map[string]string{"Idempotent-Replayed": "", "Original-Request-Id": "the-first"})
		if replayed := s.do(t, c); !bytes.Equal(replayed.body, declined.body) {
			t.Errorf("replay = %s, want %s", replayed.body, declined.body)
		}
		s.wantBooks(t, books{Runs: 1, Charges: 1})
	})
}

func TestOverageInterrupted(t *testing.T) {
	t.Parallel()
	acted := map[billing.Behavior]int{
		billing.FailBefore: 0, billing.DropBefore: 0, billing.Redirect: 0,
		billing.FailAfter: 1, billing.Garbage: 1, billing.Truncate: 1, billing.DropAfter: 1,
	}
	for behavior, charges := range acted {
		t.Run(string(behavior), func(t *testing.T) {
			t.Parallel()
			s := setupOverage(t)
			// Usually and not once: a dropped connection makes the transport try again by itself.
			s.billing.Usually(behavior)
			c := s.start(t, "again")
			problem := wantProblem(t, s.do(t, c), core.CodeUnavailable)
			if !problem.Retryable || !strings.Contains(problem.Detail, "same key") {
				t.Errorf("problem = %+v, want a retry with the same key", problem)
			}
			if got := s.point(t); got != "run_reserved" {
				t.Errorf("recovery point = %s, want run_reserved", got)
			}
			s.wantBooks(t, books{Runs: 1, Reserved: 1, Unfinished: 1, Charges: charges})
			s.refused(t, core.CodeKeyReused, c.with("X-Filename", "another.csv"))
			s.billing.Usually(billing.Accept)
			first := s.do(t, c)
			wantFirst(t, first)
			s.wantOneRun(t)
			again := s.do(t, c)
			if again.status != first.status || !bytes.Equal(again.body, first.body) {
				t.Errorf("replay = %d %s, want %d %s", again.status, again.body, first.status, first.body)
			}
			wantHeader(t, again, map[string]string{"Idempotent-Replayed": "true"})
		})
	}
}

func TestOverageWithoutKey(t *testing.T) {
	t.Parallel()
	s := setupOverage(t)
	s.billing.Usually(billing.FailAfter)
	got := s.do(t, s.start(t, ""))
	problem := wantProblem(t, got, core.CodeUnavailable)
	run := one[uuid.UUID](t, s.stage, `SELECT id FROM validation_runs`)
	if problem.Retryable || problem.RunID != run.String() {
		t.Errorf("problem = %+v, want not retryable with run %s", problem, run)
	}
	wantHeader(t, got, map[string]string{"Idempotency-Key": "", "Idempotency-Expires": ""})
	s.billing.Usually(billing.Accept)
	if n, err := s.Completer.RunOnce(t.Context()); n != 1 || err != nil {
		t.Errorf("completer = %d, %v, want 1", n, err)
	}
	s.wantOneRun(t)
	if n, err := s.Completer.RunOnce(t.Context()); n != 0 || err != nil {
		t.Errorf("completer = %d, %v, want nothing left", n, err)
	}
}

func TestOverageWithoutKeySucceeds(t *testing.T) {
	t.Parallel()
	s := setupOverage(t)
	got := s.do(t, s.start(t, ""))
	wantFirst(t, got)
	wantHeader(t, got, map[string]string{"Idempotency-Key": "", "Idempotency-Expires": ""})
	s.wantOneRun(t)
}

func TestOverageAbandoned(t *testing.T) {
	t.Parallel()

	t.Run("TheServiceGoesOnWhenTheClientHangsUp", func(t *testing.T) {
		t.Parallel()
		s := setupOverage(t)
		charging, release := s.hold(t)
		ctx, hangUp := context.WithCancel(t.Context())
		var request sync.WaitGroup
		request.Go(func() { _, _ = s.send(ctx, s.start(t, "gone")) }) // It is hung up on.
		<-charging
		hangUp()
		request.Wait()
		s.refused(t, core.CodeKeyInProgress, s.start(t, "gone"))
		release()
		dbtest.Eventually(t, func() bool { return s.point(t) == string(idempotency.PointFinished) })
		s.wantOneRun(t)
	})

	t.Run("TheCompleterAndARetryDoItOnce", func(t *testing.T) {
		t.Parallel()
		s := setupOverage(t)
		s.billing.Usually(billing.DropAfter)
		s.refused(t, core.CodeUnavailable, s.start(t, "both"))
		s.billing.Usually(billing.Accept)
		var both sync.WaitGroup
		both.Go(func() {
			if _, err := s.Completer.RunOnce(t.Context()); err != nil {
				t.Errorf("complete: %v", err)
			}
		})
		s.retryAtOnce(t, "both")
		both.Wait()
		s.wantOneRun(t)
	})
}

func TestOverageSameKeyAtOnce(t *testing.T) {
	t.Parallel()
	s := setupOverage(t)
	s.retryAtOnce(t, "same")
	if calls := s.billing.Calls(); calls != 1 {
		t.Errorf("calls of the billing service = %d, want 1", calls)
	}
	s.wantOneRun(t)
}

// hold makes the billing service hang. The first function's channel tells that it does.
func (s overageStage) hold(tb testing.TB) (<-chan struct{}, func()) {
	tb.Helper()
	charging, free := make(chan struct{}), make(chan struct{})
	say, release := sync.OnceFunc(func() { close(charging) }), sync.OnceFunc(func() { close(free) })
	s.billing.Watch(func(billing.Moment) { say(); <-free })
	tb.Cleanup(release)
	return charging, release
}

// retryAtOnce sends one start from many clients at once, each until it gets the run, and demands one run and
// equal bytes.
func (s overageStage) retryAtOnce(tb testing.TB, key string) {
	tb.Helper()
	const clients = 12
	c := s.start(tb, key)
	ctx, cancel := context.WithTimeout(tb.Context(), patience)
	defer cancel()
	answers := make([]answer, clients)
	var group sync.WaitGroup
	for i := range answers {
		group.Go(func() {
			var err error
			for answers[i].status == 0 || answers[i].status == http.StatusConflict {
				if answers[i], err = s.send(ctx, c); err != nil {
					break
				}
			}
			if err != nil || answers[i].status != http.StatusCreated {
				tb.Errorf("answer = %d %s, %v, want 201 after any number of 409",
					answers[i].status, answers[i].body, err)
			}
		})
	}
	group.Wait()
	firsts := 0
	for _, got := range answers {
		if !bytes.Equal(got.body, answers[0].body) {
			tb.Errorf("body = %s, want %s", got.body, answers[0].body)
		}
		if got.header.Get("Idempotent-Replayed") == "" {
			firsts++
		}
	}
	if firsts > 1 {
		tb.Errorf("first answers = %d, want one at most", firsts)
	}
}
