package conformance

import (
	"net/http"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest/program"
)

// testKeySyntax has how keys are stored and refused. Which texts are keys, and which of them are the same one, is shown
// by the tests of core/idempotency and by TestIdemcheck.
func (s *site) testKeySyntax(t *testing.T) {
	t.Helper()
	t.Run("Accepted", s.testAcceptedKeys)
	t.Run("Refused", s.testRefusedKeys)

	t.Run("WithoutOneEachRequestIsDone", func(t *testing.T) {
		t.Parallel()
		c := s.start(t).without("Idempotency-Key")
		first, second := s.created(t, c), s.created(t, c)
		if first.Run(t) == second.Run(t) {
			t.Errorf("run = %s twice, want two runs", first.Run(t))
		}
		for _, header := range []string{"Idempotency-Key", "Idempotency-Expires", "Idempotency-Warning"} {
			if got := first.Header.Get(header); got != "" {
				t.Errorf("%s = %q without a key, want none", header, got)
			}
		}
	})

	t.Run("IgnoredByReads", func(t *testing.T) {
		t.Parallel()
		reading := call{method: http.MethodGet, path: "/api/runs/"}.by(s.Harbour.Tokens.Viewer)
		for _, c := range []call{reading.key(t.Name()), reading.key(""), reading.key(strings.Repeat("k", 256))} {
			if a := s.do(t, c); a.Status != http.StatusOK {
				t.Errorf("answer = %d, want 200: %s", a.Status, a.Body)
			}
		}
		s.wantNothing(t, t.Name())
	})
}

func (s *site) testAcceptedKeys(t *testing.T) {
	t.Parallel()
	var printable strings.Builder
	for c := '!'; c <= '~'; c++ {
		printable.WriteRune(c)
	}
	for _, tt := range []struct{ name, sent, means string }{
		{"255CharactersWithoutTheEscapes", `"` + strings.Repeat(`\"`, 255) + `"`, strings.Repeat(`"`, 255)},
		{"EverySign", printable.String(), printable.String()},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := s.start(t).key(tt.sent)
			first := s.created(t, c)
			s.replayed(t, c, first)
			s.wantRuns(t, tt.means, 1)
			if got := first.Header.Get("Idempotency-Key"); got != tt.sent {
				t.Errorf("Idempotency-Key = %q, want %q as it was sent", got, tt.sent)
			}
		})
	}
}

func (s *site) testRefusedKeys(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		lines []string
		code  api.Code
	}{
		{"Empty", []string{""}, api.CodeKeyInvalid},
		{"256Characters", []string{strings.Repeat("k", 256)}, api.CodeKeyTooLong},
		{"TwoLines", []string{"a", "b"}, api.CodeKeyInvalid},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := s.start(t).with("X-Filename", t.Name()).with("Idempotency-Key", tt.lines...)
			refusal := s.refused(t, c, tt.code)
			if p := refusal.Problem(); p.Retryable || len(p.Errors) != 1 || p.Errors[0].Parameter != "Idempotency-Key" {
				t.Errorf("problem = %+v, want one about the header that is not retryable", p)
			}
			if got := refusal.Header.Get("Idempotency-Key"); got != "" {
				t.Errorf("Idempotency-Key = %q, want nothing repeated that is not a key", got)
			}
			s.wantNoDocument(t, t.Name())
		})
	}
}

// wantNoDocument demands that nothing was stored of a request with the file name.
func (s *site) wantNoDocument(tb testing.TB, filename string) {
	tb.Helper()
	if got := program.Count(tb, s.DB, "SELECT count(*) FROM submissions WHERE filename = $1", filename); got != 0 {
		tb.Errorf("documents named %q = %d, want none", filename, got)
	}
}
