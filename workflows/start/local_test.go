package start

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coalesce"
	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/coretest/outside"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
	"github.com/simplevalidations/simplevalidations/core/metrics"
	"github.com/simplevalidations/simplevalidations/users/quota"
	"github.com/simplevalidations/simplevalidations/validations"
	"github.com/simplevalidations/simplevalidations/workflows/start/body"
)

// executesLocally opens the places of local runs until the test ends.
func (b bundle) executesLocally(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var running sync.WaitGroup
	b.local.Open()
	running.Go(func() { _ = b.local.Run(ctx) }) // It returns nil.
	t.Cleanup(func() { cancel(); running.Wait() })
}

// request is a request to check a JSON text, which passes if it is a string.
func (tn tenant) request(key, content string) Request {
	return Request{
		Principal: tn.principal, Workflow: tn.workflow, Key: idempotency.Key{Value: key, Given: key != ""},
		KeyLifetime: time.Hour,
		Admit:       func() error { return nil },
		Body: body.Body{
			Content: validations.InlineContent([]byte(content)), MediaType: "application/json",
			FingerprintMediaType: "application/json", ContentDigest: idempotency.DigestBytes([]byte(content)),
		},
		Source: api.SourceAPI, Caller: idempotency.Caller{Method: "POST", Path: "/", RequestID: "r"},
	}
}

// wantLocal starts a run and demands that it is executed here, and that no job was staged.
func (b bundle) wantLocal(t *testing.T, tn tenant) {
	t.Helper()
	answer, err := b.starter.Start(t.Context(), tn.request("", `"a"`))
	if err != nil || answer.Executed == nil {
		t.Fatalf("start = %v, want a run that is executed here", err)
	}
	if completed := <-answer.Executed; !completed {
		t.Error("the run is not completed")
	}
	got := coretest.One[string](t, b.db, `SELECT state || ' ' || result || ' ' || epoch || ' ' || attempts || ' ' ||
		(SELECT count(*) FROM staged_jobs WHERE subject_id = r.id)
		FROM validation_runs AS r WHERE id = $1`, answer.RunID)
	if want := "COMPLETED PASS 1 1 0"; got != want {
		t.Errorf("run = %s, want %s", got, want)
	}
}

func TestStartsAreExecutedHere(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.executesLocally(t)
	tn := b.tenant(t, 100)
	b.wantLocal(t, tn)

	var starts sync.WaitGroup
	const n = 3 * localPlaces
	for range n {
		starts.Go(func() {
			answer, err := b.starter.Start(t.Context(), tn.request(uuid.NewString(), `1`))
			if err != nil {
				t.Error(err)
			}
			if answer.Executed != nil {
				<-answer.Executed
			}
		})
	}
	starts.Wait()
	// Each run either has a result or a job.
	if got := coretest.One[int](t, b.db, `SELECT count(*) FROM validation_runs AS r WHERE definition_digest = $1
		AND idempotency_key <> '' AND (result = 'FAIL') = EXISTS (
			SELECT FROM staged_jobs AS j WHERE j.subject_id = r.id)`, tn.workflow.Digest[:]); got != 0 {
		t.Errorf("runs with both or neither = %d, want 0", got)
	}
}

func TestAnswersOfRunsExecutedHere(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.executesLocally(t)
	tn := b.tenant(t, 100)
	request := tn.request("pending", `"a"`)
	first, err := b.starter.Start(t.Context(), request)
	if err != nil || first.Executed == nil {
		t.Fatalf("start = %v, want a run that is executed here", err)
	}
	<-first.Executed
	if request.Stored, err = b.starter.Lookup(t.Context(), tn.principal.OrgID, Endpoint, request.Key); err != nil {
		t.Fatal(err)
	}
	again, err := b.starter.Start(t.Context(), request)
	if err != nil || !again.Replayed || again.Executed != nil ||
		!bytes.Equal(again.Response.Body, first.Response.Body) {
		t.Errorf("replay = %+v, %v, want the first answer", again, err)
	}
}

// TestStartsGivePlacesBack lets more starts fail than there are places.
func TestStartsGivePlacesBack(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func(t *testing.T, b bundle, tn tenant){
		"QuotaUsedUp": func(t *testing.T, b bundle, _ tenant) {
			t.Helper()
			poor := b.tenant(t, 0)
			_, err := b.starter.Start(t.Context(), poor.request("", `"a"`))
			if !errors.Is(err, api.CodeQuotaExceeded) {
				t.Errorf("err = %v, want %s", err, api.CodeQuotaExceeded)
			}
		},
		"Replayed": func(t *testing.T, b bundle, tn tenant) {
			t.Helper()
			// The first of them starts the run. The others have looked up their key before that.
			if _, err := b.starter.Start(t.Context(), tn.request("k", `"a"`)); err != nil {
				t.Error(err)
			}
		},
		"UnknownOutcome": func(t *testing.T, b bundle, tn tenant) {
			t.Helper()
			starter := *b.starter
			starter.batches = coalesce.New(coalesce.Limits{Batches: 1, Members: 1}, (*attempt).size,
				func(ctx context.Context, batch []*attempt) []struct{} {
					b.starter.commitBatch(ctx, batch)
					return nil
				})
			_, err := starter.Start(t.Context(), tn.request("", `"a"`))
			if !errors.Is(err, api.CodeOutcomeUnknown) {
				t.Errorf("err = %v, want %s", err, api.CodeOutcomeUnknown)
			}
		},
		"ClientHasGone": func(t *testing.T, b bundle, tn tenant) {
			t.Helper()
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			answer, err := b.starter.Start(ctx, tn.request("", `"a"`))
			if err != nil {
				return
			}
			// The transaction had begun, so the run goes on without the client.
			<-answer.Executed
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.executesLocally(t)
			tn := b.tenant(t, 100)
			for range localPlaces + 1 {
				fail(t, b, tn)
			}
			// Those that run here give their places back when they have ended.
			coretest.Eventually(t, func() bool {
				return coretest.One[int](t, b.db, `SELECT count(*) FROM validation_runs
					WHERE state <> 'COMPLETED' AND lease_until IS NULL`) == 0
			})
			for range localPlaces {
				b.wantLocal(t, tn)
			}
		})
	}
}

// A run beyond the quota is held back until it is charged, so nobody executes it.
func TestReservedRunsAreNotBornLeased(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.executesLocally(t)
	engine := idempotency.NewEngine(b.db, idempotency.EngineConfig{Lock: time.Minute}, nil, nil)
	b.starter.overage = &Overage{Engine: engine, Billing: quota.NewBilling("", "")}
	tn := b.tenant(t, 0)
	a, err := prepare(tn.request("", `"a"`))
	if err != nil {
		t.Fatal(err)
	}
	a.slot = b.local.Acquire(a.run, tn.workflow.Definition)
	if a.slot == nil {
		t.Fatal("there is no place")
	}
	defer a.slot.Release()
	held := b.starter.reserved(a)
	b.commit(t.Context(), held)
	if held.err != nil {
		t.Fatal(held.err)
	}
	if got := coretest.One[string](t, b.db, `SELECT concat_ws(' ', state, usage_metric, sweep_after)
		FROM validation_runs`); got != "PENDING  infinity" {
		t.Errorf("run = %s, want it pending, not charged and never swept", got)
	}
}

// While a run beyond the quota is charged, others are executed in its place.
func TestAChargeTakesNoPlace(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.executesLocally(t)
	const secret = "of the billing service"
	var taken atomic.Int64
	service := outside.NewBilling(secret)
	service.Watch(func(outside.Moment, outside.Charge) { taken.Add(int64(b.local.Usage().Taken)) })
	listener := httptest.NewServer(service)
	t.Cleanup(listener.Close)
	b.starter.overage = &Overage{
		Engine: idempotency.NewEngine(b.db, idempotency.EngineConfig{Lock: time.Minute}, metrics.New("").Keys,
			slog.New(slog.DiscardHandler)),
		Billing: quota.NewBilling(listener.URL, secret),
	}
	tn := b.tenant(t, 0)
	tn.principal.Overage = true
	if _, err := b.starter.Start(t.Context(), tn.request("k", `"a"`)); err != nil {
		t.Fatal(err)
	}
	if taken.Load() != 0 || len(service.Charges()) != 1 {
		t.Errorf("places = %d during %d charges, want none during one", taken.Load(), len(service.Charges()))
	}
}
