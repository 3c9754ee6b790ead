package conformance

import (
	"net/http"
	"slices"
	"strconv"
	"testing"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest/program"
)

// crowd are calls that arrive together, and after that their replies.
type crowd struct {
	site    *site
	calls   []call
	replies []reply
}

// add adds calls and returns where they are.
func (c *crowd) add(calls ...call) []int {
	var places []int
	for _, added := range calls {
		places = append(places, len(c.calls))
		c.calls = append(c.calls, added)
	}
	return places
}

// send sends the calls so that one server commits them in a group.
func (c *crowd) send(tb testing.TB) {
	tb.Helper()
	base := c.site.one.URL()
	var requests []*http.Request
	for _, sent := range c.calls {
		requests = append(requests, sent.request(tb, base))
	}
	together := program.Crowd{DB: c.site.DB, Server: c.site.one, Holder: c.site.Enroll(tb, base, "holder")}
	for i, got := range together.Send(tb, requests...)() {
		if got.Err != nil {
			tb.Fatalf("a request was not answered: %v", got.Err)
		}
		c.replies = append(c.replies, reply{c.calls[i], got.Answer})
	}
}

func (c *crowd) at(places []int) []reply {
	var replies []reply
	for _, place := range places {
		replies = append(replies, c.replies[place])
	}
	return replies
}

// wantShared demands that runs were committed together, but for one that may have come late.
func (c *crowd) wantShared(tb testing.TB, replies []reply) {
	tb.Helper()
	var runs []string
	for _, r := range replies {
		program.WantCreated(tb, r.answer)
		runs = append(runs, r.answer.Run(tb).String())
	}
	// A run is changed when it is executed, its document never is.
	commits := program.Count(tb, c.site.DB, `
		SELECT count(DISTINCT s.xmin::text) FROM submissions AS s
		JOIN validation_runs AS r ON r.org_id = s.org_id AND r.submission_id = s.id
		WHERE r.id = ANY ($1::uuid[])`, runs)
	if commits > len(runs)/2 {
		tb.Errorf("commits of %d runs = %d: there was no group", len(runs), commits)
	}
}

// wantOneDecided is wantOneFirst where nobody may be told to come again. Requests of a group are answered from its one
// commit, and one that has come late has waited for that: a crowd's server commits nothing beside it.
func wantOneDecided(tb testing.TB, replies []reply) reply {
	tb.Helper()
	for _, r := range replies {
		if r.answer.Status == core.Spec(api.CodeKeyInProgress).Status {
			tb.Errorf("answer = %d %s, want one that is decided", r.answer.Status, r.answer.Body)
		}
	}
	return wantOneFirst(tb, replies)
}

// keyed are copies of a call under keys of their own.
func keyed(c call, n int, name string) []call {
	calls := make([]call, n)
	for i := range calls {
		calls[i] = c.key(name + strconv.Itoa(i))
	}
	return calls
}

// TestGroup has requests of all kinds answered from one commit, each as if it had come alone.
func TestCrowdInGroups(t *testing.T) {
	t.Parallel()
	s := open(t)
	partly, exhausted := s.organization(t, "partly", "--runs", "3"), s.organization(t, "exhausted", "--runs", "0")
	c := &crowd{site: s}
	start, another := s.start(t), `{"another":"document"}`
	neighbours := c.add(keyed(start, 6, "neighbour-")...)
	equal := c.add(slices.Repeat([]call{start.key("equal")}, 4)...)
	mixed := c.add(start.key("mixed"), start.key("mixed").json(another), start.key("mixed"))
	elsewhere := c.add(start.by(s.Tiny.Tokens.Executor).key("equal"))
	fitting := c.add(keyed(s.startIn(t, partly), 6, "fitting-")...)
	none := c.add(keyed(s.startIn(t, exhausted), 3, "none-")...)
	keyless := c.add(slices.Repeat([]call{start.without("Idempotency-Key")}, 3)...)
	c.send(t)
	c.wantShared(t, c.at(neighbours))

	t.Run("EqualKeysAreOneStart", func(t *testing.T) {
		t.Parallel()
		first := wantOneDecided(t, c.at(equal))
		s.replayed(t, first.call, first.answer)
	})

	t.Run("TheSameKeyWithAnotherDocumentIsRefused", func(t *testing.T) {
		t.Parallel()
		first := wantOneDecided(t, c.at(mixed))
		s.replayed(t, first.call, first.answer)
		s.wantRuns(t, "mixed", 1)
	})

	t.Run("TheSameKeyElsewhereIsAnother", func(t *testing.T) {
		t.Parallel()
		first := wantOneDecided(t, c.at(elsewhere))
		s.replayed(t, first.call, first.answer)
		s.wantRuns(t, "equal", 2)
	})

	t.Run("AQuotaGrantsWhatFits", func(t *testing.T) {
		t.Parallel()
		if got := s.wantGranted(t, c.at(fitting)); got != 3 {
			t.Errorf("granted = %d, want 3", got)
		}
	})

	t.Run("AnExhaustedOrganizationFailsNoOtherStart", func(t *testing.T) {
		t.Parallel()
		if got := s.wantGranted(t, c.at(none)); got != 0 {
			t.Errorf("granted = %d, want none", got)
		}
	})

	t.Run("WithoutAKeyEachIsAStart", func(t *testing.T) {
		t.Parallel()
		runs := make(map[string]struct{})
		for _, r := range c.at(keyless) {
			program.WantCreated(t, r.answer)
			runs[r.answer.Run(t).String()] = struct{}{}
		}
		if len(runs) != len(keyless) {
			t.Errorf("runs = %d, want %d", len(runs), len(keyless))
		}
	})
	t.Cleanup(func() { program.CheckInvariants(t, s.DB) })
}

// wantGranted counts the starts that a quota had a place for, and demands that the others are refused and forgotten.
func (s *site) wantGranted(tb testing.TB, replies []reply) int {
	tb.Helper()
	granted := 0
	for _, r := range replies {
		if r.first() {
			granted++
			s.replayed(tb, r.call, r.answer)
			continue
		}
		program.WantProblem(tb, r.answer, core.Spec(api.CodeQuotaExceeded).Status, api.CodeQuotaExceeded)
		s.refused(tb, r.call, api.CodeQuotaExceeded)
	}
	return granted
}

// TestCrowdWithAFaultyMember has a database that refuses the document of one start, and with it the whole commit.
func TestCrowdWithAFaultyMember(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.statement(t, `ALTER TABLE submissions ADD CONSTRAINT faultless CHECK (filename <> 'faulty') NOT VALID`)
	c := &crowd{site: s}
	start := s.start(t)
	before := c.add(keyed(start, 4, "before-")...)
	faulty := c.add(slices.Repeat([]call{start.named("faulty")}, 2)...)
	after := c.add(keyed(start, 4, "after-")...)
	c.send(t)
	for _, r := range append(c.at(before), c.at(after)...) {
		program.WantCreated(t, r.answer)
		s.replayed(t, r.call, r.answer)
	}
	for _, r := range c.at(faulty) {
		program.WantProblem(t, r.answer, core.Spec(api.CodeInternalError).Status, api.CodeInternalError)
	}
	s.wantNothing(t, t.Name())
	s.statement(t, `ALTER TABLE submissions DROP CONSTRAINT faultless`)
	s.replayed(t, start, s.created(t, start))
	program.CheckInvariants(t, s.DB)
}
