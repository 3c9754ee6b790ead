package chaos

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"syscall"
	"testing"

	"github.com/simplevalidations/simplevalidations/core/coretest/billing"
	"github.com/simplevalidations/simplevalidations/core/coretest/faults"
	"github.com/simplevalidations/simplevalidations/core/coretest/program"
)

const unfinishedKeys = `SELECT count(*) FROM idempotency_keys
	WHERE recovery_point <> 'finished' OR locked_until IS NOT NULL`

// overage is an installation with a billing service, one of whose organizations starts beyond its quota.
type overage struct {
	*program.Installation

	billing *billing.Server
	client  *program.Client
	order   program.Order

	mu      sync.Mutex
	created []program.Answer
}

func installOverage(tb testing.TB) *overage {
	tb.Helper()
	const secret = "of the billing service"
	service := billing.New(secret)
	listener := httptest.NewServer(service)
	tb.Cleanup(listener.Close)
	i := program.Install(tb, "SV_BILLING_URL="+listener.URL, "SV_BILLING_SECRET="+secret,
		"SV_KEY_LOCK=1s", "SV_COMPLETE_INTERVAL=100ms")
	program.Execute(tb, i.Settings, "", "org", "set-quota", i.Tiny.Slug, "0")
	program.Execute(tb, i.Settings, "", "org", "set-overage", i.Tiny.Slug, "on")
	return &overage{
		Installation: i, billing: service,
		client: program.NewClient(tb, i.Tiny.Tokens.Executor), order: program.Building(tb, "beyond"),
	}
}

func (o *overage) web(tb testing.TB) *program.Server {
	tb.Helper()
	return program.Serve(tb, o.Settings, "--only", "web")
}

// worker executes runs and completes what was abandoned.
func (o *overage) worker(tb testing.TB) {
	tb.Helper()
	program.Launch(tb, o.Settings, "", "serve", "--only", "worker")
}

// atFirst does something the first time that the billing service comes to a moment, and keeps it there meanwhile.
func (o *overage) atFirst(moment faults.Moment, do func()) {
	var once sync.Once
	o.billing.Watch(func(now faults.Moment, _ billing.Charge) {
		if now == moment {
			once.Do(do)
		}
	})
}

// request sends the order in the background; that it gets no answer is one of the things that happen to it.
func (o *overage) request(tb testing.TB, base string) *sync.WaitGroup {
	tb.Helper()
	var group sync.WaitGroup
	group.Go(func() {
		if a, err := o.client.Try(tb.Context(), base, o.order); err == nil {
			o.note(tb, a)
		}
	})
	return &group
}

// note keeps an answer with a run and checks that any other one asks for a retry.
func (o *overage) note(tb testing.TB, a program.Answer) {
	tb.Helper()
	if !a.Created() {
		if a.Status != http.StatusConflict && a.Status != http.StatusServiceUnavailable || !a.Problem().Retryable {
			tb.Errorf("answer = %d %s, want 201 or one that asks for a retry", a.Status, a.Body)
		}
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.created = append(o.created, a)
}

// retry sends the order until it is answered with the run.
func (o *overage) retry(tb testing.TB, base string) {
	tb.Helper()
	program.Await(tb, "a retry is answered with the run", func() bool {
		a := o.client.Start(tb, base, o.order)
		o.note(tb, a)
		return a.Created() || tb.Failed()
	})
}

func (o *overage) awaitFinished(tb testing.TB) {
	tb.Helper()
	program.Await(tb, "the request is finished", func() bool { return program.Count(tb, o.DB, unfinishedKeys) == 0 })
}

// check demands one run, one count, one charge, one answer, and nothing left held.
func (o *overage) check(tb testing.TB, base string) {
	tb.Helper()
	program.CheckAtRest(tb, o.DB)
	o.retry(tb, base)
	o.mu.Lock()
	defer o.mu.Unlock()
	last := o.created[len(o.created)-1]
	if !last.Replayed() {
		tb.Error("the answer after the end is not a replay")
	}
	firsts := slices.DeleteFunc(slices.Clone(o.created), program.Answer.Replayed)
	if len(firsts) > 2 {
		tb.Errorf("first answers = %d, want two at most: the frozen holder's and its successor's", len(firsts))
	}
	for _, a := range o.created {
		if !bytes.Equal(a.Body, last.Body) {
			tb.Errorf("answer = %s, want %s", a.Body, last.Body)
		}
	}
	run := last.Run(tb)
	charges := o.billing.Charges()
	if len(charges) != 1 || charges[0].RunID != run.String() || o.billing.Refused() != 0 {
		tb.Errorf("charges = %+v with %d calls refused, want one for run %s", charges, o.billing.Refused(), run)
	}
	for query, want := range map[string]int{
		unfinishedKeys:                         0,
		"SELECT count(*) FROM validation_runs": 1,
		"SELECT count(*) FROM validation_runs WHERE result = 'PASS' AND usage_metric = 'runs_overage'":      1,
		"SELECT coalesce(sum(used), 0)::bigint FROM usage_counters WHERE metric = 'runs_overage'":           1,
		"SELECT coalesce(sum(used), 0)::bigint FROM usage_counters WHERE metric = 'runs'":                   0,
		"SELECT count(*) FROM audit_records WHERE action IN ('run.start', 'run.reserve')":                   1,
		"SELECT count(*) FROM idempotency_keys WHERE response_status = 201 AND recovery_point = 'finished'": 1,
	} {
		if got := program.Count(tb, o.DB, query); got != want {
			tb.Errorf("%s = %d, want %d", query, got, want)
		}
	}
}

// killedAt kills the server that charges, when the billing service comes to the moment.
func killedAt(tb testing.TB, moment faults.Moment) *overage {
	tb.Helper()
	o := installOverage(tb)
	if moment == faults.Received {
		o.billing.Script(billing.DropBefore)
	}
	s := o.web(tb)
	o.atFirst(moment, s.Kill)
	o.request(tb, s.URL()).Wait()
	s.AwaitEnd(tb)
	if moment != faults.Answered && program.Count(tb, o.DB, unfinishedKeys) != 1 {
		tb.Error("the killed server left nothing behind, so the kill showed nothing")
	}
	return o
}

func TestServerKilledWhileItCharges(t *testing.T) {
	t.Parallel()
	for _, moment := range []faults.Moment{faults.Received, faults.Acted, faults.Answered} {
		t.Run("FinishedByARetry:"+string(moment), func(t *testing.T) {
			t.Parallel()
			o := killedAt(t, moment)
			s := o.web(t)
			o.retry(t, s.URL())
			o.worker(t)
			o.check(t, s.URL())
		})

		t.Run("FinishedByTheCompleter:"+string(moment), func(t *testing.T) {
			t.Parallel()
			o := killedAt(t, moment)
			o.worker(t)
			o.awaitFinished(t)
			o.check(t, o.web(t).URL())
		})

		t.Run("FinishedByBothAtOnce:"+string(moment), func(t *testing.T) {
			t.Parallel()
			o := killedAt(t, moment)
			// One whole server has both, and the second one makes them race with another completer.
			s := program.Serve(t, o.Settings)
			o.worker(t)
			o.retry(t, s.URL())
			o.check(t, s.URL())
		})
	}
}

// frozenAtCharge is a server that was stopped when the billing service received its charge.
type frozenAtCharge struct {
	*overage

	server *program.Server
	answer *sync.WaitGroup
}

func freezeAtCharge(tb testing.TB) frozenAtCharge {
	tb.Helper()
	o := installOverage(tb)
	s := o.web(tb)
	frozen := make(chan error, 1)
	o.atFirst(faults.Received, func() { frozen <- s.Freeze() })
	f := frozenAtCharge{overage: o, server: s, answer: o.request(tb, s.URL())}
	if err := program.Receive(tb, "the server charges and is frozen", frozen); err != nil {
		tb.Fatal(err)
	}
	return f
}

func (f frozenAtCharge) thaw(tb testing.TB) {
	tb.Helper()
	f.server.Signal(tb, syscall.SIGCONT)
	f.answer.Wait()
}

func TestServerFrozenWhileItCharges(t *testing.T) {
	t.Parallel()

	t.Run("WakesAfterItsSuccessorHasFinished", func(t *testing.T) {
		t.Parallel()
		f := freezeAtCharge(t)
		second := f.web(t)
		f.retry(t, second.URL())
		f.thaw(t)
		f.worker(t)
		f.check(t, second.URL())
	})

	t.Run("WakesWhileItsSuccessorCharges", func(t *testing.T) {
		t.Parallel()
		f := freezeAtCharge(t)
		program.Await(t, "the frozen server's charge is made", func() bool { return len(f.billing.Charges()) == 1 })
		charging, release := make(chan struct{}), make(chan struct{})
		f.atFirst(faults.Received, func() { close(charging); program.Hold(t, release) })
		second := f.web(t)
		retried := make(chan struct{})
		go func() { defer close(retried); f.retry(t, second.URL()) }()
		program.Receive(t, "the successor charges", charging)
		f.thaw(t)
		if got := program.Count(t, f.DB, `SELECT count(*) FROM idempotency_keys
			WHERE recovery_point = 'run_reserved' AND epoch = 2`); got != 1 {
			t.Error("the frozen server has moved the key of its successor")
		}
		close(release)
		program.Receive(t, "the successor answers", retried)
		f.worker(t)
		f.check(t, second.URL())
	})

	t.Run("WakesAfterTheCompleterHasFinished", func(t *testing.T) {
		t.Parallel()
		f := freezeAtCharge(t)
		f.worker(t)
		f.awaitFinished(t)
		f.thaw(t)
		f.check(t, f.server.URL())
	})
}
