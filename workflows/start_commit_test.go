package workflows

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
	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
	"github.com/simplevalidations/simplevalidations/core/jobs"
	"github.com/simplevalidations/simplevalidations/core/metrics"
	"github.com/simplevalidations/simplevalidations/users"
	"github.com/simplevalidations/simplevalidations/validations"
)

// bundle is a Starter with organizations to start runs for.
type bundle struct {
	db      *db.DB
	starter *Starter
	users   *users.Service
	flows   *Service
}

func setupStarts(t *testing.T) bundle {
	t.Helper()
	db := coretest.OpenDatabase(t)
	check := core.NewValidator()
	staged := jobs.NewSignal()
	figures := metrics.New("")
	runs, err := validations.NewService(db, validations.Config{
		Lease: time.Minute, SweepAfter: time.Minute, StepTimeout: time.Minute, RunTimeout: time.Hour,
		MaxAttempts: 3,
	}, staged, figures.Runs, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	members, err := users.NewService(db, check)
	if err != nil {
		t.Fatal(err)
	}
	return bundle{
		db: db, users: members, flows: NewService(db, runs, check),
		starter: NewStarter(db, StartConfig{
			CommitTimeout: 20 * time.Second,
		}, runs, idempotency.NewGuard(db, time.Hour, idempotency.NewActivity(), figures.Keys), staged, nil,
			figures.Starts),
	}
}

// tenant is an organization with a workflow.
type tenant struct {
	principal core.Principal
	workflow  Version
}

func (b bundle) tenant(t *testing.T, quota int64) tenant {
	t.Helper()
	slug := "t-" + uuid.NewString()
	org, err := b.users.CreateOrganization(t.Context(), slug, slug, &quota)
	if err != nil {
		t.Fatal(err)
	}
	drafts, err := DemoDrafts()
	if err != nil {
		t.Fatal(err)
	}
	workflow, err := b.flows.Create(t.Context(), org.ID, drafts[0])
	if err != nil {
		t.Fatal(err)
	}
	return tenant{principal: core.Principal{OrgID: org.ID, OrgSlug: slug, Role: core.RoleOwner}, workflow: workflow}
}

// start prepares a start with the key ("" is none) for a document.
func (tn tenant) start(t *testing.T, key, content string) start {
	t.Helper()
	request := StartRequest{
		Principal: tn.principal, Workflow: tn.workflow, Key: key, KeyGiven: key != "", KeyLifetime: time.Hour,
		Source: validations.SourceAPI,
		Body: StartBody{
			Content: validations.InlineContent([]byte(content)), MediaType: "application/json",
			FingerprintMediaType: "application/json", ContentDigest: idempotency.DigestBytes([]byte(content)),
		},
		Caller: idempotency.Caller{Method: http.MethodPost, Path: "/", RequestID: "r-" + content},
	}
	prepared, err := prepare(request, request.Fingerprint())
	if err != nil {
		t.Fatal(err)
	}
	return prepared
}

// outcome says in a word what a start came to.
func outcome(r result) string {
	switch {
	case r.err != nil:
		return string(core.AsError(r.err).Code)
	case r.answer.Replayed:
		return "replayed"
	default:
		return "created"
	}
}

func checkOutcomes(t *testing.T, results []result, want ...string) {
	t.Helper()
	for i, r := range results {
		if got := outcome(r); got != want[i] {
			t.Errorf("start %d: %s (%v), want %s", i, got, r.err, want[i])
		}
	}
}

// counts are the rows that starts have made for an organization.
type counts struct {
	keys, submissions, runs, jobs, audits, used int
}

func (b bundle) counts(t *testing.T, tn tenant) counts {
	t.Helper()
	var c counts
	err := b.db.Pool.QueryRow(t.Context(), `SELECT
		(SELECT count(*) FROM idempotency_keys WHERE org_id = $1), (SELECT count(*) FROM submissions WHERE org_id = $1),
		(SELECT count(*) FROM validation_runs WHERE org_id = $1), (SELECT count(*) FROM staged_jobs WHERE org_id = $1),
		(SELECT count(*) FROM audit_records WHERE org_id = $1 AND action = 'run.start'),
		(SELECT coalesce(sum(used), 0) FROM usage_counters WHERE org_id = $1)`, tn.principal.OrgID).
		Scan(&c.keys, &c.submissions, &c.runs, &c.jobs, &c.audits, &c.used)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (b bundle) checkCounts(t *testing.T, tn tenant, want counts) {
	t.Helper()
	if got := b.counts(t, tn); got != want {
		t.Errorf("rows = %+v, want %+v", got, want)
	}
}

// all is what n keyed starts leave behind.
func all(n int) counts {
	return counts{keys: n, submissions: n, runs: n, jobs: n, audits: n, used: n}
}

func TestCommit(t *testing.T) {
	t.Parallel()
	b := setupStarts(t)

	t.Run("OneStartIsOneOfEach", func(t *testing.T) {
		t.Parallel()
		tn := b.tenant(t, 10)
		checkOutcomes(t, b.starter.commit(t.Context(), []start{tn.start(t, "k", "a")}), "created")
		b.checkCounts(t, tn, all(1))
	})

	t.Run("WithoutAKeyNothingIsRemembered", func(t *testing.T) {
		t.Parallel()
		tn := b.tenant(t, 10)
		group := []start{tn.start(t, "", "a"), tn.start(t, "", "a")}
		checkOutcomes(t, b.starter.commit(t.Context(), group), "created", "created")
		b.checkCounts(t, tn, counts{submissions: 2, runs: 2, jobs: 2, audits: 2, used: 2})
	})

	t.Run("EqualKeysInAGroupAreOneStart", func(t *testing.T) {
		t.Parallel()
		tn, other := b.tenant(t, 10), b.tenant(t, 10)
		group := []start{
			tn.start(t, "k", "a"), other.start(t, "k", "a"), tn.start(t, "k", "a"), tn.start(t, "k", "b"),
			tn.start(t, "l", "b"),
		}
		results := b.starter.commit(t.Context(), group)
		checkOutcomes(t, results, "created", "created", "replayed", "idempotency_key_reused", "created")
		if !bytes.Equal(results[2].answer.Response.Body, results[0].answer.Response.Body) {
			t.Error("the follower's answer is not its leader's")
		}
		b.checkCounts(t, tn, all(2))
		b.checkCounts(t, other, all(1))
	})

	t.Run("FollowersOfAnExistingKeyGetIt", func(t *testing.T) {
		t.Parallel()
		tn := b.tenant(t, 10)
		b.starter.commit(t.Context(), []start{tn.start(t, "k", "a")})
		group := []start{tn.start(t, "k", "b"), tn.start(t, "k", "a"), tn.start(t, "k", "c")}
		checkOutcomes(t, b.starter.commit(t.Context(), group),
			"idempotency_key_reused", "replayed", "idempotency_key_reused")
		b.checkCounts(t, tn, all(1))
	})

	t.Run("QuotaGrantsWhatFitsInOrderOfArrival", func(t *testing.T) {
		t.Parallel()
		small, full, big := b.tenant(t, 2), b.tenant(t, 0), b.tenant(t, 10)
		group := []start{
			full.start(t, "f", "a"), small.start(t, "1", "a"), big.start(t, "1", "a"), small.start(t, "2", "a"),
			small.start(t, "3", "a"), small.start(t, "", "a"), big.start(t, "2", "a"),
		}
		checkOutcomes(t, b.starter.commit(t.Context(), group),
			"quota_exceeded", "created", "created", "created", "quota_exceeded", "quota_exceeded", "created")
		b.checkCounts(t, small, all(2))
		b.checkCounts(t, full, counts{})
		b.checkCounts(t, big, all(2))
	})

	t.Run("FollowersOfALeaderOverTheQuotaAreRefusedWithIt", func(t *testing.T) {
		t.Parallel()
		tn, neighbour := b.tenant(t, 0), b.tenant(t, 1)
		group := []start{
			tn.start(t, "k", "a"), tn.start(t, "k", "b"), neighbour.start(t, "k", "a"), tn.start(t, "k", "a"),
		}
		checkOutcomes(t, b.starter.commit(t.Context(), group),
			"quota_exceeded", "quota_exceeded", "created", "quota_exceeded")
		b.checkCounts(t, tn, counts{})
		b.checkCounts(t, neighbour, all(1))
	})

	t.Run("AnOrganizationThatIsGoneHarmsNobodyElse", func(t *testing.T) {
		t.Parallel()
		tn := b.tenant(t, 10)
		gone := tn
		gone.principal.OrgID = uuid.New()
		group := []start{tn.start(t, "1", "a"), gone.start(t, "", "a"), gone.start(t, "k", "a"), tn.start(t, "2", "a")}
		checkOutcomes(t, b.starter.commit(t.Context(), group),
			"created", "not_authenticated", "not_authenticated", "created")
		b.checkCounts(t, tn, all(2))
		b.checkCounts(t, gone, counts{})
	})

	t.Run("OneBadMemberHarmsNobodyElse", func(t *testing.T) {
		t.Parallel()
		tn := b.tenant(t, 10)
		bad := tn.start(t, "bad", "a")
		// Not valid in the database's encoding; the request is never let so far.
		bad.run.Submission.Filename = "\xff"
		group := []start{tn.start(t, "1", "a"), bad, tn.start(t, "2", "a"), tn.start(t, "2", "a")}
		checkOutcomes(t, b.starter.commit(t.Context(), group), "created", "internal_error", "created", "replayed")
		b.checkCounts(t, tn, all(2))
	})

	t.Run("ClientThatHasGoneStillGetsItsRun", func(t *testing.T) {
		t.Parallel()
		tn := b.tenant(t, 10)
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		checkOutcomes(t, b.starter.commit(gone, []start{tn.start(t, "k", "a")}), "created")
		b.checkCounts(t, tn, all(1))
	})
}

func TestCommitHeldUp(t *testing.T) {
	t.Parallel()
	b := setupStarts(t)
	stuck, free := b.tenant(t, 10), b.tenant(t, 10)
	b.starter.commit(t.Context(), []start{stuck.start(t, "0", "a"), free.start(t, "0", "a")})
	_, err := db.InTx(t.Context(), b.db, func(tx db.Tx) (int, error) {
		_, err := tx.Exec(t.Context(), `SELECT FROM usage_counters WHERE org_id = $1 FOR UPDATE`, stuck.principal.OrgID)
		if err != nil {
			return 0, err
		}
		group := []start{stuck.start(t, "1", "a"), free.start(t, "1", "a")}
		results := b.starter.commit(t.Context(), group)
		checkOutcomes(t, results, "unavailable", "created")
		if !core.AsError(results[0].err).Retryable {
			t.Error("a start that was held up must be retryable")
		}
		return 0, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	b.checkCounts(t, stuck, all(1))
	checkOutcomes(t, b.starter.commit(t.Context(), []start{stuck.start(t, "1", "a")}), "created")
}

// One whole group of another process holds its counters, as a frozen one does.
func TestCommitBesideManyThatAreHeldUp(t *testing.T) {
	t.Parallel()
	b := setupStarts(t)
	const stuck = 12
	var held []uuid.UUID
	var first, second []start
	var want []string
	for range stuck {
		tn := b.tenant(t, 10)
		held, want = append(held, tn.principal.OrgID), append(want, "unavailable")
		first, second = append(first, tn.start(t, "0", "a")), append(second, tn.start(t, "1", "a"))
	}
	free := b.tenant(t, 10)
	b.starter.commit(t.Context(), first)
	_, err := db.InTx(t.Context(), b.db, func(tx db.Tx) (int, error) {
		_, err := tx.Exec(t.Context(), `SELECT FROM usage_counters WHERE org_id = ANY ($1) FOR UPDATE`, held)
		if err != nil {
			return 0, err
		}
		results := b.starter.commit(t.Context(), append(second, free.start(t, "1", "a")))
		checkOutcomes(t, results, append(want, "created")...)
		return 0, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	b.checkCounts(t, free, all(1))
}

func TestFollow(t *testing.T) {
	t.Parallel()
	b := setupStarts(t)
	tn := b.tenant(t, 1)
	leader, follower := tn.start(t, "k", "a"), tn.start(t, "k", "a")
	for _, tt := range []struct {
		name    string
		led     error
		decided bool
	}{
		{"SharesTheWaitForAnotherRequest", idempotency.InProgress(0), true},
		{"DoesNotWaitForTheSameTroubleAgain", startError(context.DeadlineExceeded, leader), true},
		{"DoesNotKnowMoreThanItsLeader", startError(db.ErrOutcomeUnknown, leader), true},
		{"SharesTheFullCounter", users.QuotaExceeded(users.Usage{}), true},
		{"IsTriedItselfWhereTheLeaderWasAtFault", errors.New("a bad row"), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, decided := follow(follower, leader, result{err: tt.led})
			if decided != tt.decided || !errors.Is(got.err, tt.led) {
				t.Errorf("follow = %v, decided %t, want %v, decided %t", got.err, decided, tt.led, tt.decided)
			}
		})
	}
}

func TestCommitRaces(t *testing.T) {
	t.Parallel()
	b := setupStarts(t)

	t.Run("OneKeyOneRun", func(t *testing.T) {
		t.Parallel()
		tn := b.tenant(t, 100)
		for round := range 10 {
			tally := b.raceStarts(t, 16, func(int) start { return tn.start(t, strconv.Itoa(round), "a") })
			if tally["created"] != 1 || tally["created"]+tally["replayed"]+tally["idempotency_key_in_progress"] != 16 {
				t.Fatalf("outcomes = %v, want one created and the rest replayed or in progress", tally)
			}
		}
		b.checkCounts(t, tn, all(10))
	})

	t.Run("QuotaIsExact", func(t *testing.T) {
		t.Parallel()
		tn := b.tenant(t, 7)
		tally := b.raceStarts(t, 50, func(i int) start { return tn.start(t, strconv.Itoa(i), "a") })
		if tally["created"] != 7 || tally["quota_exceeded"] != 43 {
			t.Errorf("outcomes = %v, want 7 created and 43 over quota", tally)
		}
		b.checkCounts(t, tn, all(7))
	})
}

// raceStarts commits n starts at once, each in a group of its own, and counts their outcomes.
func (b bundle) raceStarts(t *testing.T, n int, prepared func(int) start) map[string]int {
	t.Helper()
	tally := map[string]int{}
	var mu sync.Mutex
	var racers sync.WaitGroup
	gate := make(chan struct{})
	for i := range n {
		st := prepared(i)
		racers.Go(func() {
			<-gate
			r := b.starter.commit(t.Context(), []start{st})[0]
			mu.Lock()
			defer mu.Unlock()
			tally[outcome(r)]++
		})
	}
	close(gate)
	racers.Wait()
	return tally
}

func TestStartError(t *testing.T) {
	t.Parallel()
	b := setupStarts(t)
	tn := b.tenant(t, 1)
	for name, keyed := range map[string]string{"Keyed": "k", "Keyless": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st := tn.start(t, keyed, "a")
			err := core.AsError(startError(fmt.Errorf("commit: %w", db.ErrOutcomeUnknown), st))
			if err.Code != core.CodeOutcomeUnknown || err.RunID != st.run.Run.ID.String() || err.Retryable != st.keyed {
				t.Errorf("err = %+v, want outcome_unknown with the run's id, retryable only with a key", err)
			}
		})
	}
	if err := startError(errors.New("else"), tn.start(t, "", "a")); core.AsError(err).Code != core.CodeInternal {
		t.Errorf("err = %v, want an internal error", err)
	}
}
