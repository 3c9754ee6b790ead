package chaos

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest/program"
)

// cells are two installations that clients reach as by nginx in production (TestMoveBehindNginx).
type cells struct {
	program.Cells

	address string
}

func setupCells(tb testing.TB) *cells {
	tb.Helper()
	// Nothing that waits for a lock gives up, however slow the machine is.
	c := &cells{Cells: program.InstallCells(tb, "SV_MOVE_REST=0s", "SV_DB_LOCK_TIMEOUT=4m",
		"SV_DB_STATEMENT_TIMEOUT=4m", "SV_COMMIT_TIMEOUT=5m",
		"SV_PURGE_SCHEDULE=@every 2s")}
	c.address = route(tb, program.Serve(tb, c.From.Settings).URL(), program.Serve(tb, c.To.Settings).URL())
	return c
}

func (c *cells) base() string { return c.address }

// route sends requests to the first of two servers, and to the other one what the first passes on.
func route(tb testing.TB, first, second string) string {
	tb.Helper()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: leavingClients}}
	tb.Cleanup(client.CloseIdleConnections)
	send := func(r *http.Request, to string, body []byte) (*http.Response, error) {
		request, err := http.NewRequestWithContext(r.Context(), r.Method, to+r.URL.RequestURI(), bytes.NewReader(body))
		if err != nil {
			return nil, fmt.Errorf("make a request: %w", err)
		}
		request.Header = r.Header
		return client.Do(request) //nolint:wrapcheck // only whether there is an answer matters
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // The client has gone.
		}
		answer, err := send(r, first, body)
		if err == nil && answer.Header.Get("X-Accel-Redirect") == "@moved" && answer.Header.Get("SV-Cell") == "b" {
			_ = answer.Body.Close() // It is not used.
			answer, err = send(r, second, body)
		}
		if err != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		defer answer.Body.Close()
		maps.Copy(w.Header(), answer.Header)
		w.WriteHeader(answer.StatusCode)
		_, _ = io.Copy(w, answer.Body) // The client may have gone.
	}))
	tb.Cleanup(server.Close)
	return server.URL
}

// heldUp is a place where a command waits for a lock: SQL that locks something, and what waits for it.
type heldUp struct {
	name   string
	on     *program.Installation
	lock   string
	waiter string
}

// places are where a move is killed, in the order in which it comes to them.
func (c *cells) places() []heldUp {
	organization := "SELECT FROM organizations WHERE id = '" + c.From.Harbour.ID.String() + "' FOR NO KEY UPDATE"
	return []heldUp{
		{"documents, read", c.From, "LOCK TABLE uploads IN ACCESS EXCLUSIVE MODE", "SELECT row_to_json%FROM uploads"},
		{"documents, written", c.To, "LOCK TABLE submissions IN SHARE MODE", "%INSERT INTO submissions"},
		{"stop", c.From, organization, "%SET moving_until = clock_timestamp()"},
		{
			"plan", c.From, "LOCK TABLE external_calls IN ACCESS EXCLUSIVE MODE",
			"SELECT row_to_json%FROM external_calls",
		},
		{"copy, cleared", c.To, "LOCK TABLE workflows IN SHARE MODE", "DELETE FROM workflows"},
		{
			// An import waits to see whether another organization has such a token.
			"copy, written", c.To, fmt.Sprintf(`
				INSERT INTO api_tokens (org_id, id, user_id, digest, prefix, label, role)
				SELECT org_id, gen_random_uuid(), user_id, sha256('%s'), '', '', 'viewer' FROM memberships LIMIT 1`,
				c.From.Harbour.Tokens.Executor), "%INSERT INTO api_tokens",
		},
		{"switch, here", c.From, "LOCK TABLE moved_tokens IN SHARE MODE", "%INSERT INTO moved_tokens"},
		{"switch, there", c.To, "LOCK TABLE moved_tokens IN SHARE MODE", "DELETE FROM moved_tokens"},
		{"delete", c.From, "LOCK TABLE findings IN SHARE MODE", "DELETE FROM findings"},
	}
}

// holdUp runs a move until it waits at a place, and returns it with what lets it go on.
func (c *cells) holdUp(tb testing.TB, h heldUp, within string) (*program.Process, func()) {
	tb.Helper()
	release := lockFor(tb, h.on, h.lock)
	move := func() *program.Process {
		return program.Launch(tb, c.From.Settings, "", c.Move("--within", within)...)
	}
	p := move()
	program.Await(tb, "the move comes to "+h.name, func() bool {
		if p.HasEnded() {
			// Without a rest it may meet a start that was accepted before, and on a busy machine it may take too long.
			if !strings.Contains(p.Stderr(), "longer than --within") {
				wantSaid(tb, p.Stderr(), "not everything of the organization is finished")
			}
			p = move()
		}
		return waits(tb, h.on, h.waiter)
	})
	return p, release
}

func lockFor(tb testing.TB, i *program.Installation, sql string) func() {
	tb.Helper()
	tx, err := i.DB.Pool.BeginTx(tb.Context(), pgx.TxOptions{})
	if err != nil {
		tb.Fatal(err)
	}
	release := func() { _ = tx.Rollback(context.WithoutCancel(tb.Context())) } // It has written nothing.
	tb.Cleanup(release)
	if _, err := tx.Exec(tb.Context(), sql); err != nil {
		tb.Fatal(err)
	}
	return release
}

func waits(tb testing.TB, i *program.Installation, statement string) bool {
	tb.Helper()
	return program.Count(tb, i.DB, `SELECT count(*) FROM pg_stat_activity
		WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%' || $1 || '%'`, statement) > 0
}

// awaitWait waits until a statement waits for a lock in the former cell.
func (c *cells) awaitWait(tb testing.TB, statement string) {
	tb.Helper()
	program.Await(tb, statement+" waits", func() bool { return waits(tb, c.From, statement) })
}

// TestMoveBetweenCells moves an organization while clients start runs in it, and kills the move everywhere. Clients
// that come again until they are answered end with one run for each key, whose answer stays the same.
func TestMoveBetweenCells(t *testing.T) {
	t.Parallel()
	c := setupCells(t)
	load := program.StartLoad(t, c.From.Harbour.Tokens.Executor, c.base)
	load.AwaitProgress(t, mostLife)
	for _, h := range c.places() {
		p, release := c.holdUp(t, h, "10s")
		p.Kill()
		release()
		if h.name == "copy, written" {
			// The organization goes on by itself.
			load.AwaitProgress(t, leastLife)
		}
	}
	if got := program.Count(t, c.From.DB, "SELECT count(*) FROM organizations WHERE moved_to = 'b'"); got != 1 {
		t.Errorf("organizations that have moved = %d, want 1 that is not deleted", got)
	}
	wantSaid(t, program.Execute(t, c.From.Settings, "", c.Move()...), "delete: ")
	wantSaid(t, program.Fail(t, c.From.Settings, c.Move()...), "There is no organization")
	load.AwaitProgress(t, mostLife)
	load.Finish(t)

	program.AwaitRest(t, c.To.DB)
	load.History.Check(t, c.To.DB, c.From.Harbour.ID)
	program.CheckAtRest(t, c.To.DB)
	program.CheckInvariants(t, c.To.DB)
	program.Await(t, "nothing is left behind, not even what processes had kept in memory", func() bool {
		return len(program.RowsOf(t, c.From.DB, c.From.Harbour.ID)) == 0
	})
	for _, action := range []string{"organization.move", "organization.import"} {
		if program.Count(t, c.To.DB, "SELECT count(*) FROM audit_records WHERE org_id = $1 AND action = $2",
			c.From.Harbour.ID, action) == 0 {
			t.Errorf("there is no record of %s", action)
		}
	}
	again := program.NewClient(t, c.From.Harbour.Tokens.Executor).Start(t, c.base(), program.Building(t, "client-0-0"))
	if err := load.History.Note("client-0-0", again); err != nil || !again.Replayed() {
		t.Errorf("replay after the move = %d %s (%v), want the answer from before", again.Status, again.Body, err)
	}
}

// TestStartsAroundTheSwitch has starts in the former cell that were accepted before the move and commit late, which no
// wait excludes.
func TestStartsAroundTheSwitch(t *testing.T) {
	t.Parallel()
	c := setupCells(t)
	client := program.NewClient(t, c.From.Harbour.Tokens.Executor)
	start := func(key string) <-chan program.Answer {
		answered := make(chan program.Answer, 1)
		o := program.Building(t, key)
		go func() {
			a, err := client.Try(t.Context(), c.base(), o)
			if err != nil {
				t.Errorf("start with key %s: %v", key, err)
			}
			answered <- a
		}()
		return answered
	}
	runs := func(i *program.Installation, key string) int {
		return program.Count(t, i.DB, "SELECT count(*) FROM validation_runs WHERE idempotency_key = $1", key)
	}
	// The counter of the month is there.
	program.WantCreated(t, client.Start(t, c.base(), program.Building(t, "first")))
	program.AwaitRest(t, c.From.DB)

	// It has raised the counter: the move finds its run and gives up.
	release := lockFor(t, c.From, "SELECT FROM workflow_versions FOR UPDATE")
	counted := start("counted")
	c.awaitWait(t, "INSERT INTO validation_runs")
	p := program.Launch(t, c.From.Settings, "", c.Move("--within", "3m")...)
	c.awaitWait(t, "usage_counters WHERE org_id = $1")
	release()
	program.WantCreated(t, <-counted)
	if got := p.ExitCode(t); got == 0 {
		t.Fatalf("exit code of a move beside a start = %d, want a failure", got)
	}
	wantSaid(t, p.Stderr(), "a run was started that is not copied")
	program.AwaitRest(t, c.From.DB)

	// It has not: there is none any more, and the client comes again.
	release = lockFor(t, c.From, "LOCK TABLE submissions IN SHARE MODE")
	late := start("late")
	c.awaitWait(t, "INSERT INTO submissions")
	p, goOn := c.holdUp(t, c.places()[len(c.places())-2], "3m")
	release()
	if a := <-late; a.Status != http.StatusServiceUnavailable || a.Problem().Code != api.CodeUnavailable ||
		a.Header.Get("Retry-After") == "" {
		t.Errorf("late start = %d %s, want unavailable", a.Status, a.Body)
	}
	if got := runs(c.From, "late"); got != 0 {
		t.Errorf("runs of the late start in the former cell = %d, want 0", got)
	}
	goOn()
	if got := p.ExitCode(t); got != 0 {
		t.Errorf("exit code of the move = %d, want 0", got)
	}
	program.WantCreated(t, client.Start(t, c.base(), program.Building(t, "late")))
	if got := runs(c.To, "late"); got != 1 {
		t.Errorf("runs of the late start in the new cell = %d, want 1", got)
	}
	if a := client.Start(t, c.base(), program.Building(t, "counted")); !a.Replayed() {
		t.Errorf("start that the first move has found = %d %s, want a replay", a.Status, a.Body)
	}
}
