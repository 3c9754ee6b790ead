package api

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest"
)

func TestErrorsOfTheFrameworkAreProblems(t *testing.T) {
	t.Parallel()
	s := setup(t)
	owner := s.Harbour.Tokens.Owner
	for _, tt := range []struct {
		name  string
		call  call
		code  api.Code
		allow string
	}{
		{"NothingThere", call{Path: "/nothing"}, api.CodeNotFound, ""},
		{"NothingInTheAPI", call{Path: "/api/nothing/", Token: owner}, api.CodeNotFound, ""},
		{"NothingInTheAPIForStrangers", call{Path: "/api/nothing/"}, api.CodeNotAuthenticated, ""},
		{"FolderAbove", call{Path: "/docs/samples/../../go.mod"}, api.CodeNotFound, ""},
		{"EncodedFolderAbove", call{Path: "/docs/samples/%2e%2e%2f%2e%2e%2fdocs.go"}, api.CodeNotFound, ""},
		{"DoubleSlash", call{Path: "//api//me/"}, api.CodeNotFound, ""},
		{
			"Unstart",
			call{Method: "GET", Path: "/api/workflows/building/start/", Token: owner},
			api.CodeMethodNotAllowed, "OPTIONS, POST",
		},
		{
			"PostToAList",
			call{Method: "POST", Path: "/api/runs/", Token: owner},
			api.CodeMethodNotAllowed,
			"OPTIONS, GET, HEAD",
		},
		{
			"DeleteRun",
			call{Method: "DELETE", Path: "/api/runs/" + unknownID + "/", Token: owner},
			api.CodeMethodNotAllowed, "OPTIONS, GET, HEAD",
		},
		{
			"UnknownMethod",
			call{Method: "BREW", Path: "/api/me/", Token: owner},
			api.CodeMethodNotAllowed,
			"OPTIONS, GET, HEAD",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := s.Do(t, tt.call)
			fixture.WantProblem(t, got, tt.code)
			fixture.WantHeader(t, got, map[string]string{"Allow": tt.allow})
		})
	}
}

func TestHeadIsGetWithoutItsBody(t *testing.T) {
	t.Parallel()
	s := setup(t)
	run := s.Started(t, s.Start(t, "k"))
	key := s.Entry(t, "k")
	for _, path := range []string{
		"/", "/docs/", "/docs/guides/idempotency/", "/docs/docs.css", "/docs/samples/good/building.json",
		"/docs/nothing/", "/api/docs/", "/api/docs/start-run/", "/api/schema/", "/livez/", "/readyz/",
		"/api/me/", "/api/usage", "/api/workflows/", "/api/workflows/building/", "/api/runs/?page_size=1",
		"/api/runs/" + run.ID + "/", "/api/runs/" + run.ID + "/events/", "/api/runs/nothing/",
		"/api/idempotency-keys/", "/api/idempotency-keys/" + key.ID + "/", "/api/runs/?page_size=0",
		"/api/nothing/", "/api/workflows/building/start/",
	} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			get := s.reading(path).With("Request-Id", "same")
			head := get
			head.Method = http.MethodHead
			got, err := s.Send(t.Context(), head)
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasSuffix(path, "/events/") {
				fixture.WantHeader(t, got, map[string]string{"Content-Type": "text/event-stream"})
				return
			}
			want, err := s.Send(t.Context(), get)
			if err != nil {
				t.Fatal(err)
			}
			if got.Status != want.Status || len(got.Body) != 0 {
				t.Errorf("HEAD = %d with %d bytes, want %d with none", got.Status, len(got.Body), want.Status)
			}
			for _, name := range []string{"Date", "Content-Length"} {
				want.Header.Del(name)
				got.Header.Del(name)
			}
			if diff := cmp.Diff(want.Header, got.Header); diff != "" {
				t.Errorf("headers (-GET +HEAD):\n%s", diff)
			}
		})
	}

	t.Run("OfNobody", func(t *testing.T) {
		t.Parallel()
		got := s.Do(t, call{Method: http.MethodHead, Path: "/api/runs/"})
		if got.Status != http.StatusUnauthorized || len(got.Body) != 0 {
			t.Errorf("HEAD = %d %q, want 401 without a body", got.Status, got.Body)
		}
	})
}

func TestPanicsAreProblems(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.Router.GET("/test/panic/", func(echo.Context) error { panic("secret of the inside") })
	got := s.Do(t, call{Path: "/test/panic/"})
	fixture.WantProblem(t, got, api.CodeInternalError)
	if strings.Contains(string(got.Body), "secret") {
		t.Errorf("the panic's reason is shown: %s", got.Body)
	}
	s.Must(t, http.StatusOK, call{Path: "/api/me/", Token: s.Harbour.Tokens.Owner})
}

// badTexts cannot be stored or shown as they are.
func badTexts() map[string]string {
	return map[string]string{
		"NUL": "%00", "BadUTF8": "%ff%fe", "Overlong": "%c0%80", "Surrogate": "%ed%a0%80", "Cut": "%e2%82",
		"Controls": "%01%1b%5b2J", "Newlines": "%0d%0aSet-Cookie:x", "Quote": "%27%22%3b--", "BadEscape": "%zz",
		"Percent": "%25s%25n", "Backslash": "%5c..%5c", "Long": strings.Repeat("%c3%a4", 3000),
	}
}

func TestHostileTextInAddresses(t *testing.T) {
	t.Parallel()
	s := setup(t)
	for name, text := range badTexts() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, place := range []string{
				"/api/runs/?workflow=*", "/api/runs/?idempotency_key=*", "/api/runs/?state=*", "/api/runs/?since=*",
				"/api/runs/?until=*", "/api/runs/?cursor=*", "/api/runs/?page_size=*", "/api/runs/?*=1",
				"/api/runs/*/", "/api/runs/*", "/api/workflows/*/", "/api/workflows/?cursor=*",
				"/api/workflows/*/start/",
				"/api/workflows/building/?version=*", "/api/*/", "/*", "/docs/*", "/docs/samples/*", "/api/docs/*",
			} {
				s.wantNoServerError(t, "GET "+strings.ReplaceAll(place, "*", text)+" HTTP/1.1", "", "")
			}
			for _, place := range []string{"/api/workflows/*/start/", "/api/workflows/building/start/?version=*"} {
				s.wantNoServerError(t, "POST "+strings.ReplaceAll(place, "*", text)+" HTTP/1.1",
					"Content-Type: application/json\r\n", "{}")
			}
		})
	}
}

func TestLongQueriesAreRefused(t *testing.T) {
	t.Parallel()
	s := setup(t)
	runs := call{Path: "/api/runs/?search=", Token: s.Harbour.Tokens.Owner}
	longest := 16<<10 - len("search=")
	got := s.Do(t, runs.To(runs.Path+strings.Repeat("x", longest+1)))
	fixture.WantProblem(t, got, api.CodeInvalidParameter)
	if !strings.Contains(string(got.Body), "16384 are allowed") {
		t.Errorf("answer = %s, want the limit", got.Body)
	}
	fits, err := s.Send(t.Context(), runs.To(runs.Path+strings.Repeat("x", longest)))
	if err != nil || strings.Contains(string(fits.Body), "are allowed") {
		t.Errorf("the longest query = %d %s, %v; want it read", fits.Status, fits.Body, err)
	}
}

func TestHostileTimes(t *testing.T) {
	t.Parallel()
	s := setup(t)
	for _, at := range []string{
		"0000-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "2026-01-01T00:00:00,5Z", "2026-01-01T00:00:00%2B23:59",
		"2026-01-01T00:00:00-15:59", "2026-01-01T24:00:00Z", "2026-01-01T00:00:60Z", "0001-01-01T00:00:00%2B14:00",
		"2026-01-01T00:00:00.1234567890123456789Z", "2026-01-01T00:00:00%2B24:00", "infinity", "now", "epoch",
	} {
		for _, name := range []string{"since", "until"} {
			s.wantNoServerError(t, "GET /api/runs/?"+name+"="+at+" HTTP/1.1", "", "")
		}
	}
}

func TestHostileHeaders(t *testing.T) {
	t.Parallel()
	s := setup(t)
	names := []string{
		"Idempotency-Key", "Request-Id", "User-Agent", "X-Filename", "Content-Type", "Content-Encoding", "Accept",
		"Prefer", "Authorization", "X-Forwarded-For", "Host2", "Cookie", "Traceparent",
	}
	for name, text := range map[string]string{
		"BadUTF8": "\xff\xfe", "Overlong": "\xc0\x80", "NotASCII": "ä\u2028\U0001F600", "Tab": "a\tb",
		"Long": strings.Repeat("x", 20_000), "Percent": "UTF-8''%00%ff", "Quoted": `"a\"b`,
		"Commas": strings.Repeat(",;=", 500),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, header := range names {
				line := header + ": " + text + "\r\n"
				if header != "Content-Type" {
					line += "Content-Type: text/csv\r\n"
				}
				s.wantNoServerError(t, "POST /api/workflows/meter-readings/start/ HTTP/1.1", line, "a,b\n1,2\n")
			}
		})
	}
	t.Run("TooManyBytesAreAProblem", func(t *testing.T) {
		t.Parallel()
		c := call{Path: "/api/me/", Token: s.Harbour.Tokens.Owner}
		got, err := s.Send(t.Context(), c.With("X-Large", strings.Repeat("x", 40_000)))
		if err != nil {
			t.Fatal(err)
		}
		fixture.WantProblem(t, got, api.CodeRequestHeaderTooLarge)
	})
	t.Run("TheUserAgentIsStoredAsText", func(t *testing.T) {
		t.Parallel()
		s.wantNoServerError(t, "POST /api/workflows/meter-readings/start/ HTTP/1.1", "Idempotency-Key: agent\r\n"+
			"Content-Type: text/csv\r\nUser-Agent: a\xff"+strings.Repeat("ä", 600)+"\r\n", "a,b\n1,2\n")
		want := "a\uFFFD" + strings.Repeat("ä", 498)
		if got := coretest.One[string](t, s.DB,
			`SELECT user_agent FROM idempotency_keys WHERE key = 'agent'`); got != want {
			t.Errorf("user_agent = %q, want %q", got, want)
		}
	})
}

func TestHostileBodies(t *testing.T) {
	t.Parallel()
	s := setup(t)
	head := "POST /api/workflows/building/start/ HTTP/1.1"
	for name, texts := range map[string][]string{
		"application/json": {
			"", "\x00", "\xff", "{", `{"content":"\u0000"}`, `{"content":"\ud800"}`, `{"content":1e400}`,
			`{"content":"x","name":"\u0000"}`, `{"content":"x","metadata":{"a":"\u0000"}}`,
			`{"content":"x","metadata":{"a":1e999999}}`, `{"content":"x","filename":"\u0000"}`,
			`{"content":"x","short_description":"\u0007"}`, `{"content":null}`, `{"content":{"a":"\u0000"}}`,
			strings.Repeat("[", 20_000), `{"content":` + strings.Repeat("[", 20_000), `{"a":1,"a":2}`, "1e400",
			`"\ud800"`,
			`{"content":"x","content_type":"a/b; c=\u0000"}`, `{"CONTENT":"x"}`, "\ufeff{}",
		},
		"application/yaml": {"\x00", "\xff", "a: &a [*a]", "%YAML 9.9\n---\n", "a: !!binary \x01"},
		"multipart/form-data; boundary=X": {
			"--X", "--X--", "--X\r\n\r\n", "\x00",
			"--X\r\nContent-Disposition: \xff\r\n\r\n\r\n--X--\r\n",
		},
		"multipart/form-data":             {"--X--"},
		"multipart/mixed; boundary=X":     {"--X--"},
		"text/plain; charset=\xff":        {"a"},
		"application/json; charset=utf-7": {"{}"},
	} {
		t.Run(strings.Map(onlyLetters, name), func(t *testing.T) {
			t.Parallel()
			for _, text := range texts {
				s.wantNoServerError(t, head, "Content-Type: "+name+"\r\n", text)
			}
		})
	}
	t.Run("TextPartsOfAForm", func(t *testing.T) {
		t.Parallel()
		for _, part := range []string{"name", "filename", "metadata", "short_description", "content_type"} {
			for _, text := range []string{
				"\x00", "\xff", "\xed\xa0\x80", "{\"a\":\"\\u0000\"}", "\x1b[2J",
				strings.Repeat("ä", 70_000),
			} {
				contentType, body := form("X", `name="file"`, "application/json", "{}", `name="`+part+`"`, "", text)
				s.wantNoServerError(t, head, "Content-Type: "+contentType+"\r\n", body)
			}
		}
	})
	t.Run("StartedRunsEnd", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		for _, text := range []string{
			"\x00", "\xff", "{", `{"a":"\u0000"}`, `{"\u0000":"\ud800"}`, "1e400",
			`{"building":{"\u0000":1}}`,
		} {
			s.Must(t, http.StatusCreated,
				s.Start(t, "").To("/api/workflows/building/start/").WithBody("application/json", text))
			s.Must(t, http.StatusCreated, s.Start(t, "").WithBody("text/csv", "meter_id,"+text+"\n"+text+","+text))
		}
		s.Work(t)
		if others := coretest.One[string](t, s.DB, `
			SELECT coalesce(string_agg(r.result || ' of ' || encode(s.content, 'escape'), ', '), '')
			FROM validation_runs AS r JOIN submissions AS s ON s.id = r.submission_id
			WHERE r.result <> 'FAIL'`); others != "" {
			t.Errorf("runs = %s, want FAIL each", others)
		}
	})
}

func onlyLetters(r rune) rune {
	if r >= 'a' && r <= 'z' {
		return r
	}
	return -1
}

// wantNoServerError sends bytes as they are, as an HTTP client would not, with harbour's executor's token.
func (s *stage) wantNoServerError(tb testing.TB, requestLine, header, body string) {
	tb.Helper()
	request := requestLine + "\r\nHost: localhost\r\nConnection: close\r\nContent-Length: " +
		strconv.Itoa(len(body)) + "\r\n"
	if !strings.HasPrefix(header, "Authorization") {
		request += "Authorization: Bearer " + s.Harbour.Tokens.Executor + "\r\n"
	}
	got := s.exchange(tb, request+header+"\r\n"+body)
	if got.Status >= http.StatusInternalServerError {
		tb.Errorf("%.200q %.200q %.200q: status = %d %s, want none of the server's errors",
			requestLine, header, body, got.Status, got.Body)
	}
	if got.Header.Get("Set-Cookie") != "" {
		tb.Errorf("%.200q %.200q: a header was injected", requestLine, header)
	}
}
