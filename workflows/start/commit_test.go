package start

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
	"github.com/simplevalidations/simplevalidations/core/metrics"
	"github.com/simplevalidations/simplevalidations/users/quota"
)

func TestCommit(t *testing.T) {
	t.Parallel()
	b := setup(t)

	t.Run("EqualKeysInAGroupAreOneStart", func(t *testing.T) {
		t.Parallel()
		tn, other := b.tenant(t, 10), b.tenant(t, 10)
		group := []*attempt{
			tn.start(t, "k", "a"), other.start(t, "k", "a"), tn.start(t, "k", "a"), tn.start(t, "k", "b"),
			tn.start(t, "l", "b"),
		}
		results := b.commit(t.Context(), group...)
		b.checkOutcomes(t, results, "created", "created", "replayed", "idempotency_key_reused", "created")
		replayed, err := b.starter.answer(t.Context(), results[2])
		if err != nil || !bytes.Equal(replayed.Response.Body, results[0].response.Body) {
			t.Error("the follower's answer is not its leader's")
		}
		b.checkCounts(t, tn, all(2))
		b.checkCounts(t, other, all(1))
	})

	t.Run("FollowersOfAnExistingKeyGetIt", func(t *testing.T) {
		t.Parallel()
		tn := b.tenant(t, 10)
		b.commit(t.Context(), tn.start(t, "k", "a"))
		group := []*attempt{tn.start(t, "k", "b"), tn.start(t, "k", "a"), tn.start(t, "k", "c")}
		b.checkOutcomes(t, b.commit(t.Context(), group...),
			"idempotency_key_reused", "replayed", "idempotency_key_reused")
		b.checkCounts(t, tn, all(1))
	})

	t.Run("QuotaGrantsWhatFitsInOrderOfArrival", func(t *testing.T) {
		t.Parallel()
		small, full, big := b.tenant(t, 2), b.tenant(t, 0), b.tenant(t, 10)
		group := []*attempt{
			full.start(t, "f", "a"), small.start(t, "1", "a"), big.start(t, "1", "a"), small.start(t, "2", "a"),
			small.start(t, "3", "a"), small.start(t, "", "a"), big.start(t, "2", "a"),
		}
		b.checkOutcomes(t, b.commit(t.Context(), group...),
			"quota_exceeded", "created", "created", "created", "quota_exceeded", "quota_exceeded", "created")
		b.checkCounts(t, small, all(2))
		b.checkCounts(t, full, counts{})
		b.checkCounts(t, big, all(2))
	})

	t.Run("FollowersOfALeaderOverTheQuotaAreRefusedWithIt", func(t *testing.T) {
		t.Parallel()
		tn, neighbour := b.tenant(t, 0), b.tenant(t, 1)
		group := []*attempt{
			tn.start(t, "k", "a"), tn.start(t, "k", "b"), neighbour.start(t, "k", "a"), tn.start(t, "k", "a"),
		}
		b.checkOutcomes(t, b.commit(t.Context(), group...),
			"quota_exceeded", "quota_exceeded", "created", "quota_exceeded")
		b.checkCounts(t, tn, counts{})
		b.checkCounts(t, neighbour, all(1))
	})

	t.Run("AnOrganizationThatIsGoneFailsNoOtherStart", func(t *testing.T) {
		t.Parallel()
		tn := b.tenant(t, 10)
		gone := tn
		gone.principal.OrgID = uuid.New()
		group := []*attempt{
			tn.start(t, "1", "a"), gone.start(t, "", "a"), gone.start(t, "k", "a"), tn.start(t, "2", "a"),
		}
		b.checkOutcomes(t, b.commit(t.Context(), group...),
			"created", "unavailable", "unavailable", "created")
		b.checkCounts(t, tn, all(2))
		b.checkCounts(t, gone, counts{})
	})

	t.Run("OneBadMemberFailsNoOtherStart", func(t *testing.T) {
		t.Parallel()
		tn := b.tenant(t, 10)
		bad := tn.start(t, "bad", "a")
		// Not valid in the database's encoding; the request is never let so far.
		bad.run.Submission.Filename = "\xff"
		group := []*attempt{tn.start(t, "1", "a"), bad, tn.start(t, "2", "a"), tn.start(t, "2", "a")}
		b.checkOutcomes(t, b.commit(t.Context(), group...), "created", "internal_error", "created", "replayed")
		b.checkCounts(t, tn, all(2))
	})

	t.Run("ClientThatHasGoneStillGetsItsRun", func(t *testing.T) {
		t.Parallel()
		tn := b.tenant(t, 10)
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		b.checkOutcomes(t, b.commit(gone, tn.start(t, "k", "a")), "created")
		b.checkCounts(t, tn, all(1))
	})
}

// A transaction that was repeated, or taken apart, must leave nothing of what it had granted in the attempt.
func TestChargeIsForgottenWithItsTransaction(t *testing.T) {
	t.Parallel()
	b := setup(t)
	tn := b.tenant(t, 2)
	b.commit(t.Context(), tn.start(t, "first", "a"))
	b.starter.overage = &Overage{Engine: idempotency.NewEngine(b.db, idempotency.EngineConfig{Lock: time.Minute},
		metrics.New("").Keys, slog.New(slog.DiscardHandler))}
	granted, bad := tn.start(t, "k", "a"), b.tenant(t, 1).start(t, "k", "a")
	bad.run.Submission.Filename = "\xff"
	if err := b.starter.commit(t.Context(), []*attempt{granted, bad}, usualLockTimeout); err == nil {
		t.Fatal("a row that the database refuses was committed")
	}
	b.checkOutcomes(t, b.commit(t.Context(), tn.start(t, "other", "a")), "created")
	b.commit(t.Context(), granted)
	if !errors.Is(granted.err, api.CodeQuotaExceeded) {
		t.Fatalf("err = %v, want that the quota is used up", granted.err)
	}
	reserved := b.starter.reserved(granted)
	if reserved.run.Run.UsageMetric != "" || reserved.granted {
		t.Errorf("the held run is charged to %q, want to nothing", reserved.run.Run.UsageMetric)
	}
}

// The enqueuer hands a run over at once, and not when it looks at the outbox the next time.
func TestStagedRunsWakeTheEnqueuer(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.checkOutcomes(t, b.commit(t.Context(), b.tenant(t, 1).start(t, "k", "a")), "created")
	select {
	case <-b.starter.staged.Ready():
	default:
		t.Error("nobody woke the enqueuer")
	}
}

// A start is answered when the server says that it is on the disk.
func TestStartsWaitForTheDisk(t *testing.T) {
	t.Parallel()
	b := setup(t)
	tn := b.tenant(t, 1)
	for _, statement := range []string{
		coretest.One[string](t, b.db, `SELECT format('ALTER ROLE %I IN DATABASE %I SET synchronous_commit = on',
			current_user, current_database())`),
		`ALTER TABLE validation_runs ADD COLUMN waits text DEFAULT current_setting('synchronous_commit')`,
	} {
		if _, err := b.db.Pool.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	b.db.Pool.Reset() // New connections have the setting.
	b.checkOutcomes(t, b.commit(t.Context(), tn.start(t, "k", "a")), "created")
	if got := coretest.One[string](t, b.db, `SELECT waits FROM validation_runs`); got != "on" {
		t.Errorf("synchronous_commit of a start = %s, want on", got)
	}
}

func TestCommitHeldUp(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.starter.database = coretest.ConnectWithin(t, b.db.Pool.Config().ConnString(), time.Second)
	stuck, free := b.tenant(t, 10), b.tenant(t, 10)
	b.commit(t.Context(), stuck.start(t, "0", "a"), free.start(t, "0", "a"))
	_, err := db.InTx(t.Context(), b.db, func(tx db.Tx) (int, error) {
		_, err := tx.Exec(t.Context(), `SELECT FROM usage_counters WHERE org_id = $1 FOR UPDATE`, stuck.principal.OrgID)
		if err != nil {
			return 0, err
		}
		group := []*attempt{stuck.start(t, "1", "a"), free.start(t, "1", "a")}
		results := b.commit(t.Context(), group...)
		b.checkOutcomes(t, results, "unavailable", "created")
		if !core.AsError(results[0].err).Retryable {
			t.Error("a start that was held up must be retryable")
		}
		return 0, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	b.checkCounts(t, stuck, all(1))
	b.checkOutcomes(t, b.commit(t.Context(), stuck.start(t, "1", "a")), "created")
}

// A purge holds the document of a rerun. The organization's other starts do not wait for it.
func TestCommitBesideARerunThatIsHeldUp(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.starter.database = coretest.ConnectWithin(t, b.db.Pool.Config().ConnString(), time.Second)
	tn := b.tenant(t, 10)
	first := b.commit(t.Context(), tn.start(t, "0", "a"))[0]
	rerun, err := prepare(Request{
		Endpoint: EndpointRerun, Principal: tn.principal, Workflow: tn.workflow, Earlier: &first.run.Run,
		Key: idempotency.Key{Value: "1", Given: true}, KeyLifetime: time.Hour, Source: api.SourceAPI,
		Caller: idempotency.Caller{Method: http.MethodPost, Path: "/", RequestID: "r"},
	})
	if err != nil {
		t.Fatal(err)
	}
	err = db.Do(t.Context(), b.db, func(tx db.Tx) error {
		_, err := tx.Exec(t.Context(), `SELECT FROM submissions WHERE org_id = $1 FOR UPDATE`, tn.principal.OrgID)
		if err == nil {
			b.checkOutcomes(t, b.commit(t.Context(), rerun, tn.start(t, "2", "b")), "unavailable", "created")
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	b.checkCounts(t, tn, all(2))
}

// One whole group of another process holds its counters, as a frozen one does.
func TestCommitBesideManyThatAreHeldUp(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.starter.database = coretest.ConnectWithin(t, b.db.Pool.Config().ConnString(), time.Second)
	const stuck = 12
	var held []uuid.UUID
	var first, second []*attempt
	var want []string
	for range stuck {
		tn := b.tenant(t, 10)
		held, want = append(held, tn.principal.OrgID), append(want, "unavailable")
		first, second = append(first, tn.start(t, "0", "a")), append(second, tn.start(t, "1", "a"))
	}
	free := b.tenant(t, 10)
	b.commit(t.Context(), first...)
	_, err := db.InTx(t.Context(), b.db, func(tx db.Tx) (int, error) {
		_, err := tx.Exec(t.Context(), `SELECT FROM usage_counters WHERE org_id = ANY ($1) FOR UPDATE`, held)
		if err != nil {
			return 0, err
		}
		results := b.commit(t.Context(), append(second, free.start(t, "1", "a"))...)
		b.checkOutcomes(t, results, append(want, "created")...)
		return 0, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	b.checkCounts(t, free, all(1))
}

func TestDuplicates(t *testing.T) {
	t.Parallel()
	b := setup(t)
	tn := b.tenant(t, 1)
	first := tn.start(t, "k", "a")
	for _, tt := range []struct {
		name     string
		first    error
		resolved bool
	}{
		{"DoNotWaitForTheSameTroubleAgain", commitError(context.DeadlineExceeded, first), true},
		{"DoNotKnowMoreThanTheFirst", commitError(db.ErrOutcomeUnknown, first), true},
		{"ShareTheFullCounter", quota.Exceeded(quota.Usage{}), true},
		{"AreTriedThemselvesWhereTheFirstWasAtFault", errors.New("a bad row"), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			refused := tn.start(t, "k", "a")
			refused.refuse(tt.first)
			d := duplicate{attempt: tn.start(t, "k", "a"), first: refused}
			if resolved := d.resolve(); resolved != tt.resolved || !errors.Is(d.err, tt.first) {
				t.Errorf("resolved = %t with %v, want %t with %v", resolved, d.err, tt.resolved, tt.first)
			}
		})
	}

	t.Run("ShareTheWaitForAnotherRequest", func(t *testing.T) {
		t.Parallel()
		d := duplicate{attempt: tn.start(t, "k", "a"), first: tn.start(t, "k", "a")}
		if got := b.outcomeOf(t, d.attempt); !d.resolve() || got != "idempotency_key_in_progress" {
			t.Errorf("outcome = %s, want in progress", got)
		}
	})
}

func TestCommitRaces(t *testing.T) {
	t.Parallel()
	b := setup(t)

	t.Run("OneKeyOneRun", func(t *testing.T) {
		t.Parallel()
		tn := b.tenant(t, 100)
		for round := range 10 {
			tally := b.raceStarts(t, 16, func(int) *attempt { return tn.start(t, strconv.Itoa(round), "a") })
			if tally["created"] != 1 || tally["created"]+tally["replayed"]+tally["idempotency_key_in_progress"] != 16 {
				t.Fatalf("outcomes = %v, want one created and the rest replayed or in progress", tally)
			}
		}
		b.checkCounts(t, tn, all(10))
	})

	t.Run("QuotaIsExact", func(t *testing.T) {
		t.Parallel()
		tn := b.tenant(t, 7)
		tally := b.raceStarts(t, 50, func(i int) *attempt { return tn.start(t, strconv.Itoa(i), "a") })
		if tally["created"] != 7 || tally["quota_exceeded"] != 43 {
			t.Errorf("outcomes = %v, want 7 created and 43 over quota", tally)
		}
		b.checkCounts(t, tn, all(7))
	})
}

// raceStarts commits n starts at once, each in a group of its own, and counts their outcomes.
func (b bundle) raceStarts(t *testing.T, n int, prepared func(int) *attempt) map[string]int {
	t.Helper()
	tally := map[string]int{}
	var mu sync.Mutex
	var racers sync.WaitGroup
	gate := make(chan struct{})
	for i := range n {
		st := prepared(i)
		racers.Go(func() {
			<-gate
			result := b.outcomeOf(t, b.commit(t.Context(), st)[0])
			mu.Lock()
			defer mu.Unlock()
			tally[result]++
		})
	}
	close(gate)
	racers.Wait()
	return tally
}

func TestCommitError(t *testing.T) {
	t.Parallel()
	b := setup(t)
	tn := b.tenant(t, 1)
	for name, keyed := range map[string]string{"Keyed": "k", "Keyless": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st := tn.start(t, keyed, "a")
			err := core.AsError(commitError(fmt.Errorf("commit: %w", db.ErrOutcomeUnknown), st))
			if err.Code != api.CodeOutcomeUnknown || err.RunID != st.run.Run.ID.String() || err.Retryable != st.keyed {
				t.Errorf("err = %+v, want outcome_unknown with the run's id, retryable only with a key", err)
			}
		})
	}
	if err := commitError(errors.New("else"), tn.start(t, "", "a")); core.AsError(err).Code != api.CodeInternalError {
		t.Errorf("err = %v, want an internal error", err)
	}
}
