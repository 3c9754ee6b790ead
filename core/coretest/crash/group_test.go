package crash

import (
	"bytes"
	"net/http"
	"strconv"
	"testing"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest/program"
)

// member is a start of a crowd, and its reply.
type member struct {
	tenant program.Tenant
	// key is empty where the start has none.
	key   string
	reply program.Reply
}

// members are starts of an organization, one for each key.
func members(tenant program.Tenant, keys ...string) []member {
	var starts []member
	for _, key := range keys {
		starts = append(starts, member{tenant: tenant, key: key})
	}
	return starts
}

// keys are n keys of one name.
func keys(n int, name string) []string {
	named := make([]string, n)
	for i := range named {
		named[i] = name + strconv.Itoa(i)
	}
	return named
}

// gather sends the members to the victim so that they are committed in a group. The returned function waits for their
// replies.
func (s *stage) gather(tb testing.TB, starts []member) func() {
	tb.Helper()
	var requests []*http.Request
	for _, m := range starts {
		request, err := program.Building(tb, m.key).Request(tb.Context(), s.front.URL())
		if err != nil {
			tb.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+m.tenant.Tokens.Executor)
		requests = append(requests, request)
	}
	crowd := program.Crowd{DB: s.DB, Server: s.front, Holder: s.Enroll(tb, s.front.URL(), "holder")}
	wait := crowd.Send(tb, requests...)
	return func() {
		for i, reply := range wait() {
			starts[i].reply = reply
		}
	}
}

// lockPatience has a server wait for a lock as long as it takes a crowd to come together.
const lockPatience = "SV_DB_LOCK_TIMEOUT=9s"

// TestGroupStruck strikes a commit that many starts share: either all of them are there after that, or none. Those with
// keys are sent again, and each comes to one run; those without are told what is known of theirs.
func TestGroupStruck(t *testing.T) {
	t.Parallel()
	for f, outcome := range map[fault]struct {
		unknown   bool
		committed int
	}{
		dropBefore: {unknown: true}, dropAfter: {unknown: true, committed: 1},
		killBefore: {}, killAfter: {committed: 1}, freezeBefore: {}, freezeAfter: {committed: 1},
		stall: {committed: 1},
	} {
		t.Run(string(f), func(t *testing.T) {
			t.Parallel()
			s := newStage(t, flows()[0], lockPatience)
			s.strike(t, s.flow.places()[0], f)
			s.expose(t)
			starts := append(members(s.Harbour, keys(5, "member-")...), members(s.Harbour, "equal", "equal")...)
			keyless := len(starts)
			starts = append(starts, members(s.Harbour, "", "", "")...)
			wait := s.gather(t, starts)
			program.Receive(t, "the fault strikes", s.struck)
			if !outcome.unknown {
				s.checkWhole(t, outcome.committed)
			}
			s.release(t)
			wait()
			unknown := 0
			for _, m := range starts {
				unknown += s.checkUnknown(t, m, outcome.committed)
			}
			if outcome.unknown != (unknown > 1) {
				t.Errorf("starts of an unknown outcome = %d, want many: %t", unknown, outcome.unknown)
			}
			s.checkKeyless(t, starts[keyless:], outcome.committed)
			s.checkKeyed(t, starts[:keyless])
			s.work(t)
			program.CheckAtRest(t, s.DB)
		})
	}
}

// checkWhole demands that of the struck group there is nothing before its commit and everything after it. The victim
// must not go on yet: its next group would be there as well.
func (s *stage) checkWhole(tb testing.TB, committed int) {
	tb.Helper()
	s.mu.Lock()
	members := s.members
	s.mu.Unlock()
	if members < 2 {
		tb.Fatalf("members of the group = %d: there was no group", members)
	}
	if got := program.Count(tb, s.DB, allRuns); got != members*committed {
		tb.Errorf("runs before anything is repeated = %d, want %d", got, members*committed)
	}
	if got := program.Count(tb, s.DB, startCommits, s.Harbour.ID); got != committed {
		tb.Errorf("commits of them = %d, want %d", got, committed)
	}
	program.CheckInvariants(tb, s.DB)
}

// startCommits are the commits of an organization's starts, by what is never changed later.
const startCommits = "SELECT count(DISTINCT xmin::text) FROM submissions WHERE org_id = $1"

// checkUnknown demands that a start whose outcome is unknown is to be sent again only with a key, and that the run it
// names is there if the commit has happened. It counts such starts.
func (s *stage) checkUnknown(tb testing.TB, m member, committed int) int {
	tb.Helper()
	if m.reply.Err != nil || m.reply.Problem().Code != api.CodeOutcomeUnknown {
		return 0
	}
	told := program.WantProblem(tb, m.reply.Answer, http.StatusServiceUnavailable, api.CodeOutcomeUnknown)
	if told.Retryable != (m.key != "") {
		tb.Errorf("retryable with key %q = %t, want it only with a key", m.key, told.Retryable)
	}
	run, err := uuid.Parse(told.RunID)
	if err != nil {
		tb.Fatalf("problem = %+v, want one that names the run", told)
	}
	if got := program.Count(tb, s.DB, allRuns+" WHERE id = $1", run); got != committed {
		tb.Errorf("runs with the id that was told to key %q = %d, want %d", m.key, got, committed)
	}
	return 1
}

// checkKeyless demands that there is a run for each start without a key that was told so, none for one that was told
// the contrary, and at most one for one that was told nothing.
func (s *stage) checkKeyless(tb testing.TB, starts []member, committed int) {
	tb.Helper()
	least, most := 0, 0
	for _, m := range starts {
		switch {
		case m.reply.Err != nil:
			most++
		case m.reply.Created(), m.reply.Problem().Code == api.CodeOutcomeUnknown && committed == 1:
			least++
			most++
		}
	}
	got := program.Count(tb, s.DB, allRuns+" WHERE org_id = $1 AND idempotency_key = ''", s.Harbour.ID)
	if got < least || got > most {
		tb.Errorf("runs without a key = %d, want %d to %d", got, least, most)
	}
}

// checkKeyed sends the starts with keys again, until each has its one run.
func (s *stage) checkKeyed(tb testing.TB, starts []member) {
	tb.Helper()
	base := s.aside(tb).URL()
	for _, m := range starts {
		client := program.NewClient(tb, m.tenant.Tokens.Executor)
		var again program.Answer
		program.Await(tb, "a retry is answered with the run", func() bool {
			again = client.Start(tb, base, program.Building(tb, m.key))
			return again.Created()
		})
		if m.reply.Err == nil && m.reply.Created() && !bytes.Equal(again.Body, m.reply.Body) {
			tb.Errorf("answer = %s, want %s", again.Body, m.reply.Body)
		}
		runs := program.Count(tb, s.DB, allRuns+" WHERE org_id = $1 AND idempotency_key = $2", m.tenant.ID, m.key)
		if runs != 1 {
			tb.Errorf("runs of key %q = %d, want 1", m.key, runs)
		}
	}
}
