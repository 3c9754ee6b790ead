package conformance

import (
	"context"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/coretest/program"
)

// testErrors has the requests that fail. All leave their key as it was, so that it can be used when the fault is
// mended. A panic cannot be caused from outside: the tests of core plant one in a transaction, which leaves nothing
// behind, and those of config one in a handler, which is answered as an internal error is.
func (s *site) testErrors(t *testing.T) {
	t.Helper()
	t.Run("RefusedThenCorrected", s.testCorrections)
	t.Run("TooManyRequests", s.testTooManyRequests)
	t.Run("InternalError", testInternalError)
	t.Run("DatabaseGone", testDatabaseGone)
}

func (s *site) testCorrections(t *testing.T) {
	t.Parallel()
	good := s.start(t)
	for _, tt := range []struct {
		name string
		bad  call
		code api.Code
	}{
		{"InvalidBody", good.json(`{"content":"x","unknown":1}`), api.CodeInvalidPayload},
		{"NoBody", good.json(""), api.CodeInvalidPayload},
		{"BrokenForm", good.sending("multipart/form-data; boundary=X", "--X\r\n\r\na"), api.CodeInvalidPayload},
		{"BodyTooLarge", good.json(strings.Repeat("a", largestBody+1)), api.CodePayloadTooLarge},
		{"MediaType", good.sending("application/pdf", "%PDF"), api.CodeUnsupportedMediaType},
		{"Parameter", good.to(good.path + "?version=latest"), api.CodeInvalidParameter},
		{"Workflow", good.to("/api/workflows/unknown/start/"), api.CodeNotFound},
		{"InactiveWorkflow", good.to("/api/workflows/legacy-import/start/"), api.CodeWorkflowInactive},
		{"Role", good.by(s.Harbour.Tokens.Viewer), api.CodePermissionDenied},
		{"Token", good.by("sv_unknown"), api.CodeNotAuthenticated},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			refusal := s.refused(t, tt.bad.key(t.Name()), tt.code)
			if refusal.Problem().Retryable {
				t.Errorf("refusal = %s, want one that is not retryable", refusal.Body)
			}
			s.wantNothing(t, t.Name())
			s.replayed(t, good.key(t.Name()), s.created(t, good.key(t.Name())))
			s.wantRuns(t, t.Name(), 1)
		})
	}
}

// testTooManyRequests has a server that allows each token two requests in a second.
func (s *site) testTooManyRequests(t *testing.T) {
	t.Parallel()
	server := program.Serve(t, append(s.Settings, "SV_REQUESTS_PER_SECOND=2"))
	c := s.start(t)
	reading := c.to("/api/me/")
	reading.method = http.MethodGet
	program.Await(t, "a request is too many", func() bool {
		return s.on(t, server, reading).Status == http.StatusTooManyRequests
	})
	refusal := s.on(t, server, c)
	p := program.WantProblem(t, refusal, http.StatusTooManyRequests, api.CodeRateLimited)
	if !p.Retryable || refusal.Header.Get("Retry-After") == "" {
		t.Errorf("refusal = %s, want one that says when to come again", refusal.Body)
	}
	s.wantNothing(t, t.Name())
	var first program.Answer
	program.Await(t, "the request is allowed", func() bool {
		first = s.on(t, server, c)
		return first.Status != http.StatusTooManyRequests
	})
	program.WantCreated(t, first)
	s.replayed(t, c, first)
	s.wantRuns(t, t.Name(), 1)
}

// testInternalError has a database that refuses to store a document, for a reason that the service does not know.
func testInternalError(t *testing.T) {
	t.Parallel()
	s := open(t)
	before := s.start(t).key(t.Name() + "-before")
	first := s.created(t, before)
	s.statement(t, `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
		$$ BEGIN RAISE EXCEPTION 'out of order'; END $$`)
	s.statement(t, `CREATE TRIGGER refusing BEFORE INSERT ON submissions FOR EACH ROW EXECUTE FUNCTION refuse()`)
	c := s.start(t)
	refusal := s.refused(t, c, api.CodeInternalError)
	if strings.Contains(string(refusal.Body), "out of order") {
		t.Errorf("the refusal tells what went wrong inside: %s", refusal.Body)
	}
	s.replayed(t, before, first)
	s.wantNothing(t, t.Name())
	s.statement(t, `DROP TRIGGER refusing ON submissions`)
	s.replayed(t, c, s.created(t, c))
	s.wantRuns(t, t.Name(), 1)
	program.CheckInvariants(t, s.DB)
}

func (s *site) statement(tb testing.TB, statement string) {
	tb.Helper()
	if _, err := s.DB.Pool.Exec(tb.Context(), statement); err != nil {
		tb.Fatalf("%s: %v", statement, err)
	}
}

// testDatabaseGone closes the database to the servers, which go on by themselves when it is open again.
func testDatabaseGone(t *testing.T) {
	t.Parallel()
	s := open(t)
	before := s.start(t).key(t.Name() + "-before")
	first := s.created(t, before)
	s.completed(t, first, s.Harbour.Tokens.Viewer)
	s.allowConnections(t, false)
	for _, c := range []call{before, s.start(t), s.start(t).without("Idempotency-Key")} {
		refusal := s.refused(t, c, api.CodeUnavailable)
		if !refusal.Problem().Retryable || refusal.Header.Get("Retry-After") == "" {
			t.Errorf("refusal = %s, want one that asks for a retry", refusal.Body)
		}
	}
	s.allowConnections(t, true)
	s.awaitReplay(t, before, first)
	s.wantNothing(t, t.Name())
	s.replayed(t, s.start(t), s.created(t, s.start(t)))
	s.wantRuns(t, t.Name(), 1)
	if got := program.Count(t, s.DB, "SELECT count(*) FROM validation_runs"); got != 2 {
		t.Errorf("runs = %d, want those of the two keys", got)
	}
	program.CheckAtRest(t, s.DB)
}

// awaitReplay sends a call until the servers have found back to their database.
func (s *site) awaitReplay(tb testing.TB, c call, first program.Answer) {
	tb.Helper()
	for _, server := range []*program.Server{s.one, s.other} {
		var a program.Answer
		program.Await(tb, "the server finds its database again", func() bool {
			a = s.on(tb, server, c)
			return a.Status != http.StatusServiceUnavailable
		})
		program.WantReplay(tb, a, first)
	}
}

// allowConnections opens the database, or closes it and ends all connections.
func (s *site) allowConnections(tb testing.TB, allowed bool) {
	tb.Helper()
	name := s.DB.Pool.Config().ConnConfig.Database
	ctx := context.WithoutCancel(tb.Context())
	conn, err := pgx.Connect(ctx, os.Getenv(coretest.DatabaseVariable))
	if err != nil {
		tb.Fatalf("connect: %v", err)
	}
	defer conn.Close(ctx)
	statement := "ALTER DATABASE " + pgx.Identifier{name}.Sanitize() + " WITH ALLOW_CONNECTIONS false"
	if allowed {
		statement = strings.TrimSuffix(statement, "false") + "true"
	}
	if _, err := conn.Exec(ctx, statement); err != nil {
		tb.Fatalf("%s: %v", statement, err)
	}
	if _, err := conn.Exec(ctx, `
		SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1`, name); err != nil {
		tb.Fatalf("end connections: %v", err)
	}
	s.DB.Pool.Reset()
}
