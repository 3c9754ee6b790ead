package conformance

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest/program"
)

// largestBody is the most that a body may have.
const largestBody = 2 << 20

// site is an installation with two servers.
type site struct {
	*program.Installation

	client *program.Client
	// one and other are two processes on one database.
	one, other *program.Server
}

// open installs the product. Nothing that waits for a lock gives up, however slow the machine is: its key would be free
// for a moment, and a copy would wait in its place.
func open(tb testing.TB, settings ...string) *site {
	tb.Helper()
	i := program.Install(tb, append([]string{
		"SV_MAX_BODY_BYTES=2097152", "SV_DB_LOCK_TIMEOUT=4m", "SV_DB_STATEMENT_TIMEOUT=4m", "SV_COMMIT_TIMEOUT=5m",
	}, settings...)...)
	s := &site{
		Installation: i, client: program.NewClient(tb, ""),
		one: program.Serve(tb, i.Settings), other: program.Serve(tb, i.Settings),
	}
	s.created(tb, creation("site-report").by(s.Harbour.Tokens.Owner))
	return s
}

// do sends a call to the first server.
func (s *site) do(tb testing.TB, c call) program.Answer {
	tb.Helper()
	return s.on(tb, s.one, c)
}

// on sends a call to a server and has to get an answer.
func (s *site) on(tb testing.TB, server *program.Server, c call) program.Answer {
	tb.Helper()
	a, err := s.client.Do(c.request(tb, server.URL()))
	if err != nil {
		tb.Fatalf("%s %s: %v", c.method, c.path, err)
	}
	return a
}

// created sends a call that has to be done, and not to be a repetition.
func (s *site) created(tb testing.TB, c call) program.Answer {
	tb.Helper()
	a := s.do(tb, c)
	program.WantCreated(tb, a)
	return a
}

// replayed sends a call to both servers, which have to repeat the first answer.
func (s *site) replayed(tb testing.TB, c call, first program.Answer) {
	tb.Helper()
	program.WantReplay(tb, s.on(tb, s.one, c), first)
	program.WantReplay(tb, s.on(tb, s.other, c), first)
}

// refused sends a call to both servers, which have to refuse it alike, and returns the first refusal.
func (s *site) refused(tb testing.TB, c call, code api.Code) program.Answer {
	tb.Helper()
	program.WantProblem(tb, s.on(tb, s.other, c), core.Spec(code).Status, code)
	a := s.on(tb, s.one, c)
	program.WantProblem(tb, a, core.Spec(code).Status, code)
	for _, name := range []string{"Location", "Idempotent-Replayed", "Idempotency-Expires", "Original-Request-Id"} {
		if line := a.Header.Get(name); line != "" {
			tb.Errorf("%s of a refusal = %q, want none", name, line)
		}
	}
	return a
}

// wantRuns demands that so many runs were started under the key, in all organizations.
func (s *site) wantRuns(tb testing.TB, key string, want int) {
	tb.Helper()
	if got := program.Count(tb, s.DB, "SELECT count(*) FROM validation_runs WHERE idempotency_key = $1",
		key); got != want {
		tb.Errorf("runs of key %q = %d, want %d", key, got, want)
	}
}

// wantNothing demands that nothing is remembered of the key.
func (s *site) wantNothing(tb testing.TB, key string) {
	tb.Helper()
	s.wantRuns(tb, key, 0)
	if got := program.Count(tb, s.DB, "SELECT count(*) FROM idempotency_keys WHERE key = $1", key); got != 0 {
		tb.Errorf("keys %q = %d, want none", key, got)
	}
}

// command runs a command of the operator and returns what it prints.
func (s *site) command(tb testing.TB, args ...string) string {
	tb.Helper()
	return strings.TrimSpace(program.Execute(tb, s.Settings, "", args...))
}

// completed waits until the run of an answer is completed.
func (s *site) completed(tb testing.TB, first program.Answer, token string) {
	tb.Helper()
	reading := call{method: http.MethodGet, path: first.Header.Get("Location")}.by(token)
	program.Await(tb, "the run is completed", func() bool {
		return bytes.Contains(s.do(tb, reading).Body, []byte(`"state":"COMPLETED"`))
	})
}

// organization is one that starts runs of the workflow of site reports.
type organization struct {
	slug, owner string
}

func (s *site) harbour() organization { return organization{s.Harbour.Slug, s.Harbour.Tokens.Owner} }

// organization makes one that a test has for itself.
func (s *site) organization(tb testing.TB, slug string, flags ...string) organization {
	tb.Helper()
	s.command(tb, append([]string{"org", "create", slug}, flags...)...)
	s.command(tb, "user", "create", "owner@"+slug+".example", "--org", slug)
	o := organization{slug: slug}
	o.owner = s.token(tb, o, "owner", "--role", "owner")
	s.created(tb, creation("site-report").by(o.owner))
	return o
}

// token makes a token for a member, who is named as in the demonstration.
func (s *site) token(tb testing.TB, o organization, member string, flags ...string) string {
	tb.Helper()
	return s.command(tb, append([]string{
		"admin", "token", "create", "--org", o.slug, "--user", member + "@" + o.slug + ".example",
	}, flags...)...)
}
