package operations

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/coretest/postgres"
	"github.com/simplevalidations/simplevalidations/core/coretest/program"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
)

// retries is how often a client asks again while the outcome of its request is unknown.
const retries = 2

// stage is an installation, a server of it, and what its clients were told.
type stage struct {
	*program.Installation

	server        *program.Server
	client, owner *program.Client
	told          *program.History
}

// TestNothingIsAnsweredThatNoStandbyHas loses the only standby, lets it come back, loses it again and fails over to it
// by force. What was answered 201 is there, what was not starts once, and no key is answered while no standby has it.
func TestNothingIsAnsweredThatNoStandbyHas(t *testing.T) {
	t.Parallel()
	for _, loss := range postgres.Losses() {
		t.Run(loss.Name, func(t *testing.T) {
			t.Parallel()
			pair := postgres.StartPair(t)
			s := serveOn(t, pair, "DATABASE_URL="+pair.URL(t), "SV_COMMIT_TIMEOUT=1s", "SV_DB_STATEMENT_TIMEOUT=1s")
			s.outlive(t, pair, loss)
			s.failOver(t, pair, loss)
		})
	}
}

// outlive loses the standby for a while.
func (s *stage) outlive(tb testing.TB, pair *postgres.Pair, loss postgres.Loss) {
	tb.Helper()
	s.insist(tb, "before")
	pair.Lose(tb, loss)
	s.wantUnanswered(tb, pair, "during")
	pair.TakeBack(tb, loss)
	s.insist(tb, "before", "during", "beside during", "after")
	s.create(tb, "during")
	s.check(tb)
	// A leader that was demoted has become a standby, and may have what nobody else has.
	standby := coretest.Connect(tb, pair.StandbyURL())
	_, _, err := idempotency.Lookup(tb.Context(), standby, s.Harbour.ID, "workflow_start", "before")
	if !errors.Is(err, db.ErrReadOnly) {
		tb.Errorf("look-up on a standby = %v, want %v", err, db.ErrReadOnly)
	}
}

// failOver loses the standby and then the primary, and promotes the standby.
func (s *stage) failOver(tb testing.TB, pair *postgres.Pair, loss postgres.Loss) {
	tb.Helper()
	s.insist(tb, "early")
	pair.Lose(tb, loss)
	s.wantUnanswered(tb, pair, "late")
	pair.KillPrimary(tb)
	pair.TakeBack(tb, loss)
	pair.Promote(tb)
	s.insist(tb, "early", "late", "beside late", "last")
	s.create(tb, "late")
	s.check(tb)
}

// serveOn starts a server. The settings say how it reaches the database.
func serveOn(tb testing.TB, pair *postgres.Pair, settings ...string) *stage {
	tb.Helper()
	i := program.InstallOn(tb, pair.URL(tb), coretest.Redis(tb), "DATABASE_URL="+pair.URL(tb))
	return &stage{
		Installation: i, server: program.Serve(tb, append(i.Settings, settings...)), told: program.NewHistory(),
		client: program.NewClient(tb, i.Harbour.Tokens.Executor), owner: program.NewClient(tb, i.Tiny.Tokens.Owner),
	}
}

// insist sends starts until they are answered, in the same way as ever.
func (s *stage) insist(tb testing.TB, keys ...string) {
	tb.Helper()
	for _, key := range keys {
		program.Await(tb, "the start with key "+key+" is answered", func() bool {
			a := s.client.Start(tb, s.server.URL(), program.Building(tb, key))
			if !a.Created() {
				wantUndecided(tb, a)
				return false
			}
			if err := s.told.Note(key, a); err != nil {
				tb.Error(err)
			}
			return true
		})
	}
}

// wantUnanswered demands that a start and another request with a key are told that their outcome is unknown, and then
// nothing else, however often they ask.
func (s *stage) wantUnanswered(tb testing.TB, pair *postgres.Pair, key string) {
	tb.Helper()
	order := program.Building(tb, key)
	program.Await(tb, "the commit of a start has run out of time", func() bool {
		a := s.client.Start(tb, s.server.URL(), order)
		wantUndecided(tb, a)
		return a.Problem().Code == api.CodeOutcomeUnknown
	})
	wantUndecided(tb, s.client.Start(tb, s.server.URL(), program.Building(tb, "beside "+key)))
	wantUndecided(tb, s.tryToCreate(tb, key))
	for range retries {
		wantUndecided(tb, s.client.Start(tb, s.server.URL(), order))
		wantUndecided(tb, s.tryToCreate(tb, key))
		// Whoever ends a COMMIT that waits lets all see what it has committed, although no standby has it.
		coretest.Prepare(tb, pair.PrimaryURL(),
			"SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
	}
}

func wantUndecided(tb testing.TB, a program.Answer) {
	tb.Helper()
	p := a.Problem()
	if !p.Retryable || a.Status != http.StatusConflict && a.Status != http.StatusServiceUnavailable {
		tb.Fatalf("answer = %d (replayed %t), want a retryable 409 or 503: %s", a.Status, a.Replayed(), a.Body)
	}
}

// create creates a workflow under a key, in as many tries as it takes.
func (s *stage) create(tb testing.TB, key string) {
	tb.Helper()
	program.Await(tb, "the workflow of key "+key+" is created", func() bool {
		a := s.tryToCreate(tb, key)
		if !a.Created() {
			wantUndecided(tb, a)
		}
		return a.Created()
	})
}

// tryToCreate sends a request that is one transaction under a key and no start.
func (s *stage) tryToCreate(tb testing.TB, key string) program.Answer {
	tb.Helper()
	request, err := http.NewRequestWithContext(tb.Context(), http.MethodPost, s.server.URL()+"/api/workflows/",
		strings.NewReader(`{"slug":"made-`+key+`","name":"Made","is_active":true,"definition":{`+
			`"accepts":["application/json"],"steps":[{"id":"shape","name":"Shape","type":"json_schema",`+
			`"config":{"schema":{"type":"object"}}}]}}`))
	if err != nil {
		tb.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Idempotency-Key", key)
	a, err := s.owner.Do(request)
	if err != nil {
		tb.Fatalf("create a workflow: %v", err)
	}
	return a
}

// check waits until every run is completed, and demands that each answer is true.
func (s *stage) check(tb testing.TB) {
	tb.Helper()
	program.CheckAtRest(tb, s.DB)
	s.told.Check(tb, s.DB, s.Harbour.ID)
}
