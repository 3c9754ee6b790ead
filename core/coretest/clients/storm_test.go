package clients

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core/coretest/program"
)

// atOnce is how many starts a client has under way in a storm.
const atOnce = 16

// TestStorm has each client start runs through a connection that breaks in all ways. There are as many keys as starts,
// as many runs as keys, and as many charges as runs, and no client reports a failure of a run that exists.
func TestStorm(t *testing.T) {
	t.Parallel()
	installation := program.Install(t)
	server := program.Serve(t, installation.Settings)
	for name, start := range drivers() {
		org := installation.Enroll(t, server.URL(), "storm-"+strings.ToLower(name))
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seed := rand.Uint64()
			storm := NewStorm(seed)
			proxy := NewProxy(t, server.URL(), false, storm.Next)
			s := &stormed{Installation: installation, org: org, base: proxy.URL, driver: start(t)}
			s.startAll(t)
			t.Logf("seed %d: %d starts in %d attempts: %v; proxy: %v", seed, stormStarts, s.attempts, s.outcomes,
				storm.Tally())
			s.check(t)
		})
	}
	t.Cleanup(func() { program.CheckAtRest(t, installation.DB) })
}

// stormed is what a client has experienced in a storm.
type stormed struct {
	*program.Installation
	org    program.Tenant
	base   string
	driver Driver

	mu       sync.Mutex
	attempts int
	outcomes map[string]int
	// runs are the runs that were acknowledged to the client, by their keys.
	runs map[string]string
}

func (s *stormed) startAll(tb testing.TB) {
	tb.Helper()
	s.outcomes, s.runs = make(map[string]int), make(map[string]string)
	var group sync.WaitGroup
	numbers := make(chan int)
	for range atOnce {
		group.Go(func() {
			for n := range numbers {
				s.start(tb, n)
			}
		})
	}
	for n := range stormStarts {
		numbers <- n
	}
	close(numbers)
	group.Wait()
}

// start starts one run. Where its outcome is not known, it repeats the call with the key, as a caller should.
func (s *stormed) start(tb testing.TB, n int) {
	tb.Helper()
	options := DefaultOptions()
	options.Attempts, options.AttemptTimeoutMS = 8, 5_000
	call := Call{
		ID: fmt.Sprintf("%d-%s", n, uuid.NewString()), BaseURL: s.base, Token: s.org.Tokens.Executor, Op: "start",
		Args: Command{
			Workflow: "building", MediaType: "application/json", Filename: "building.json",
			ContentBase64: base64.StdEncoding.EncodeToString(fmt.Appendf(nil, `{"number": %d}`, n)),
		},
		Options: options,
	}
	for {
		got, err := s.driver.Do(tb.Context(), call)
		if err != nil {
			tb.Error(err)
			return
		}
		s.note(tb, got)
		if got.Error != UnknownOutcome {
			return
		}
		call.Args.Key = got.Key
	}
}

func (s *stormed) note(tb testing.TB, got Outcome) {
	tb.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.attempts += got.Attempts
	s.outcomes[kindOf(got, "start")]++
	switch {
	case got.OK && s.runs[got.Key] != "":
		tb.Errorf("key %s was used for two starts", got.Key)
	case got.OK:
		s.runs[got.Key] = got.RunID
	case got.Error != UnknownOutcome:
		exists := program.Count(tb, s.DB,
			"SELECT count(*) FROM validation_runs WHERE org_id = $1 AND idempotency_key = $2", s.org.ID, got.Key)
		tb.Errorf("outcome = %+v with %d runs, want a run or an unknown outcome", got, exists)
	}
}

func (s *stormed) check(tb testing.TB) {
	tb.Helper()
	charges := "SELECT coalesce(sum(used), 0)::int FROM usage_counters WHERE org_id = $1"
	for what, query := range map[string]string{
		"keys":    "SELECT count(*) FROM idempotency_keys WHERE org_id = $1",
		"runs":    "SELECT count(*) FROM validation_runs WHERE org_id = $1",
		"charges": charges,
	} {
		if got := program.Count(tb, s.DB, query, s.org.ID); got != stormStarts {
			tb.Errorf("%s = %d, want %d", what, got, stormStarts)
		}
	}
	for key, run := range s.runs {
		if got := program.Count(tb, s.DB, `SELECT count(*) FROM validation_runs
			WHERE org_id = $1 AND idempotency_key = $2 AND id = $3`, s.org.ID, key, run); got != 1 {
			tb.Errorf("runs %s with key %s = %d, want 1", run, key, got)
		}
	}
	if len(s.runs) != stormStarts || s.attempts <= stormStarts {
		tb.Errorf("started runs = %d in %d attempts, want %d in more", len(s.runs), s.attempts, stormStarts)
	}
}

// Storm breaks requests at random and counts how.
type Storm struct {
	mu    sync.Mutex
	faces *rand.Rand
	tally map[string]int
}

// NewStorm makes a storm that is the same for the same seed and order of requests.
func NewStorm(seed uint64) *Storm {
	return &Storm{faces: rand.New(rand.NewPCG(seed, seed)), tally: make(map[string]int)}
}

// stormFaults are what happens to so many of a hundred requests. The others pass.
func stormFaults() []struct {
	percent int
	fault   Fault
} {
	text := map[string]string{"Content-Type": "text/plain"}
	const busy = "upstream connect error"
	return []struct {
		percent int
		fault   Fault
	}{
		{8, Fault{Do: dropBefore}},
		{4, Fault{Do: resetBefore}},
		{8, Fault{Do: answer, Status: http.StatusServiceUnavailable, Headers: text, Body: busy}},
		{10, Fault{Do: dropAfter}},
		{4, Fault{Do: resetAfter}},
		{5, Fault{Do: answerAfter, Status: http.StatusServiceUnavailable, Headers: text, Body: busy}},
		{8, Fault{Do: cut}},
		{3, Fault{Do: late}},
		{5, Fault{Do: buffer}},
	}
}

// Next chooses what is done with a request.
func (s *Storm) Next(string) Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	chosen := Fault{Do: pass}
	face := s.faces.IntN(100) // of a hundred
	for _, f := range stormFaults() {
		if face -= f.percent; face < 0 {
			chosen = f.fault
			break
		}
	}
	s.tally[chosen.Do]++
	return chosen
}

// Tally is how often the storm did what.
func (s *Storm) Tally() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tally
}
