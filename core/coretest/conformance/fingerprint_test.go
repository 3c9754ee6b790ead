package conformance

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest/program"
)

// testFingerprint has what a request means and what it does not. Which bodies mean the same is shown by the tests of
// workflows/start/body and of core/idempotency.
func (s *site) testFingerprint(t *testing.T) {
	t.Helper()
	t.Run("Same", s.testSameRequests)
	t.Run("Other", s.testOtherRequests)
}

func (s *site) testSameRequests(t *testing.T) {
	t.Parallel()
	raw := s.start(t)
	for _, tt := range []struct {
		name       string
		first, and call
	}{
		{"WithoutTheSlash", raw, raw.to(strings.TrimSuffix(raw.path, "/"))},
		{"TracingHeaders", raw, raw.with("Traceparent", "00-1").with("User-Agent", "other").with("X-Request-Id", "x")},
		{"AnotherRequestID", raw.with("Request-Id", "one"), raw.with("Request-Id", "two")},
		{"Preferences", raw, raw.with("Prefer", "respond-async")},
		{"AnotherToken", raw, raw.by(s.Harbour.Tokens.Owner)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s.replayed(t, tt.and.key(t.Name()), s.created(t, tt.first.key(t.Name())))
			s.wantRuns(t, t.Name(), 1)
		})
	}
}

func (s *site) testOtherRequests(t *testing.T) {
	t.Parallel()
	raw := s.start(t)
	table := raw.to(startReadings).csv(string(program.Sample(t, "good/meter-readings.csv")))
	pinned := raw.to(raw.path + "?version=1")
	content, options, workflow := []string{"content"}, []string{"options"}, []string{"workflow"}
	for _, tt := range []struct {
		name       string
		first, and call
		differs    []string
	}{
		{"AnotherValue", raw.json(`{"a":1}`), raw.json(`{"a":2}`), content},
		{"AFilenameInPlaceOfNone", table, table.named("a.csv"), options},
		{"AnotherWorkflow", raw, raw.to(startReadings), workflow},
		{"AVersionInPlaceOfNone", raw, pinned, workflow},
		{"NoVersionInPlaceOfOne", pinned, raw, workflow},
		{"Everything", raw, table.named("b.csv"), []string{"workflow", "content", "options"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s.wantReuse(t, tt.first, tt.and, tt.differs)
		})
	}

	t.Run("AnotherVersion", func(t *testing.T) {
		t.Parallel()
		s.created(t, creation("two-versions").by(s.Harbour.Tokens.Owner))
		s.created(t, versionOf("two-versions", "floor").by(s.Harbour.Tokens.Owner))
		c := s.start(t).to("/api/workflows/two-versions/start/")
		s.wantReuse(t, c.to(c.path+"?version=1"), c.to(c.path+"?version=2"), workflow)
	})
}

// wantReuse demands that the second request is refused, that the refusal says why and not more, and that the key
// still stands for the first.
func (s *site) wantReuse(t *testing.T, one, other call, differs []string) {
	t.Helper()
	first := s.created(t, one.key(t.Name()))
	program.WantProblem(t, s.on(t, s.other, other.key(t.Name())), 422, api.CodeKeyReused)
	refusal := s.do(t, other.key(t.Name()))
	p := program.WantProblem(t, refusal, 422, api.CodeKeyReused)
	if !slices.Equal(p.Differs, differs) {
		t.Errorf("differs = %v, want %v", p.Differs, differs)
	}
	if p.OriginalRequestID != first.Header.Get("Request-Id") || p.Retryable {
		t.Errorf("original_request_id = %q and retryable = %t, want %q and false",
			p.OriginalRequestID, p.Retryable, first.Header.Get("Request-Id"))
	}
	if bytes.Contains(refusal.Body, []byte(first.Run(t).String())) || refusal.Header.Get("Location") != "" {
		t.Errorf("the refusal tells of the run: %v %s", refusal.Header, refusal.Body)
	}
	s.replayed(t, one.key(t.Name()), first)
	s.wantRuns(t, t.Name(), 1)
}
