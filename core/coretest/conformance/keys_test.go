package conformance

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest/program"
)

// testKeySyntax has how keys are sent and stored. Which texts are keys is shown by the tests of core/idempotency.
func (s *site) testKeySyntax(t *testing.T) {
	t.Helper()
	t.Run("Accepted", s.testAcceptedKeys)
	t.Run("OneKeyInTwoForms", s.testFormsOfKeys)
	t.Run("TwoKeysThatLookAlike", s.testKeysThatLookAlike)
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
		{"255Characters", strings.Repeat("k", 255), strings.Repeat("k", 255)},
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

func (s *site) testFormsOfKeys(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, bare, quoted string }{
		{"Escaped", `say "a\b"`, `"say \"a\\b\""`},
		{"SpacesWithinQuotes", "two  spaces", `"two  spaces"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			first := s.created(t, s.start(t).key(tt.bare))
			s.replayed(t, s.start(t).key(tt.quoted), first)
			s.wantRuns(t, tt.bare, 1)
		})
	}

	t.Run("WhiteSpaceAroundIt", func(t *testing.T) {
		t.Parallel()
		first := s.created(t, s.start(t).key("surrounded"))
		program.WantReplay(t, s.verbatim(t, s.start(t), "Idempotency-Key: \t surrounded \t"), first)
		program.WantReplay(t, s.verbatim(t, s.start(t), "idempotency-key:surrounded"), first)
	})
}

func (s *site) testKeysThatLookAlike(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, one, other string }{
		{"SpacesWithinQuotes", "inner", `" inner"`},
		{"LeadingZeros", "1", "01"},
		{"Length", strings.Repeat("l", 254), strings.Repeat("l", 255)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			one, other := s.created(t, s.start(t).key(tt.one)), s.created(t, s.start(t).key(tt.other))
			if one.Run(t) == other.Run(t) {
				t.Errorf("run = %s for %q and %q, want two runs", one.Run(t), tt.one, tt.other)
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
		{"NotUTF8", []string{"k\xff"}, api.CodeKeyInvalid},
		{"TwoLines", []string{"a", "b"}, api.CodeKeyInvalid},
		{"Unterminated", []string{`"a`}, api.CodeKeyInvalid},
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

// verbatim sends a call with one more header line, as it is, in place of the key.
func (s *site) verbatim(tb testing.TB, c call, line string) program.Answer {
	tb.Helper()
	connection, err := net.Dial("tcp", strings.TrimPrefix(s.one.URL(), "http://"))
	if err != nil {
		tb.Fatalf("connect: %v", err)
	}
	defer connection.Close()
	var text strings.Builder
	request := c.without("Idempotency-Key").request(tb, s.one.URL())
	if err := request.Write(&text); err != nil {
		tb.Fatalf("write the request: %v", err)
	}
	head, body, _ := strings.Cut(text.String(), "\r\n\r\n")
	if _, err := io.WriteString(connection, head+"\r\n"+line+"\r\n\r\n"+body); err != nil {
		tb.Fatalf("send: %v", err)
	}
	response, err := http.ReadResponse(bufio.NewReader(connection), request)
	if err != nil {
		tb.Fatalf("read the answer: %v", err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		tb.Fatalf("read the answer: %v", err)
	}
	return program.Answer{Status: response.StatusCode, Header: response.Header, Body: answer}
}
