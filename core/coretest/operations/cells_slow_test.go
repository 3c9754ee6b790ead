//go:build slow

package operations

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/simplevalidations/simplevalidations/core/client"
	"github.com/simplevalidations/simplevalidations/core/coretest/program"
)

// The organization that is moved has so many runs with a document of each size: 10,000 and 1 GiB together.
const (
	smallDocuments, smallDocument = 9_900, 96 << 10
	largeDocuments, largeDocument = 100, 1 << 20
	// fillers is how many clients start them.
	fillers = 8
	// startsPerSecond is how many requests the clients of each organization send.
	startsPerSecond = 20
	// replayEvery is which of the runs are started again after the move.
	replayEvery = 50
	// patientClients is how many clients with the usual retries start a run as soon as nothing can be started.
	patientClients = 20
)

// cellsBehindNginx are two cells behind the product's own configuration of nginx, and tokens that name them.
type cellsBehindNginx struct {
	program.Cells

	front *nginx
	// moving is the token of the organization that moves, and steady are those of others, one in each cell.
	moving string
	steady map[*program.Installation]string
}

func setupCellsBehindNginx(tb testing.TB) *cellsBehindNginx {
	tb.Helper()
	c := &cellsBehindNginx{Cells: program.InstallCells(tb, "SV_TRUSTED_PROXIES=127.0.0.0/8", "SV_DB_MAX_CONNS=20")}
	a, b := program.Serve(tb, c.From.Settings), program.Serve(tb, c.To.Settings)
	c.front = newNginxWith(tb, program.Deployed(tb, "nginx/cells.conf",
		"server 10.0.1.11:8000", "server "+strings.TrimPrefix(a.URL(), "http://"),
		"    server 10.0.1.12:8000 max_fails=1 fail_timeout=2s;\n", "",
		"server 10.0.2.11:8000", "server "+strings.TrimPrefix(b.URL(), "http://"),
		"    server 10.0.2.12:8000 max_fails=1 fail_timeout=2s;\n", ""), []*program.Server{a, b})
	c.moving = tokenIn(tb, c.From, c.From.Harbour)
	c.steady = map[*program.Installation]string{}
	for _, i := range []*program.Installation{c.From, c.To} {
		c.steady[i] = tokenIn(tb, i, i.Tiny)
		program.Execute(tb, i.Settings, "", "org", "set", i.Tiny.Slug, "--runs", "1000000")
	}
	program.Execute(tb, c.From.Settings, "", "org", "set", c.From.Harbour.Slug, "--runs", "1000000")
	return c
}

// tokenIn makes a token that names its cell.
func tokenIn(tb testing.TB, i *program.Installation, org program.Tenant) string {
	tb.Helper()
	var email string
	if err := i.DB.Pool.QueryRow(tb.Context(), `SELECT u.email FROM memberships AS m JOIN users AS u ON u.id = m.user_id
		WHERE m.org_id = $1 AND m.role = 'owner'`, org.ID).Scan(&email); err != nil {
		tb.Fatal(err)
	}
	return strings.TrimSpace(program.Execute(tb, i.Settings, "", "admin", "token", "create", "--org", org.Slug,
		"--user", email))
}

// fill starts the runs.
func (c *cellsBehindNginx) fill(tb testing.TB, told *program.History) {
	tb.Helper()
	caller := program.NewClient(tb, c.moving)
	var group sync.WaitGroup
	for n := range fillers {
		group.Go(func() {
			for k := n; k < smallDocuments+largeDocuments; k += fillers {
				o := padded(tb, k)
				a, err := caller.Try(tb.Context(), c.front.url(), o)
				if err != nil || !a.Created() || told.Note(o.Key, a) != nil {
					tb.Errorf("start with key %s = %d %s, %v, want 201", o.Key, a.Status, a.Body, err)
					return
				}
			}
		})
	}
	group.Wait()
}

// padded is the order of a run, always the same, whose document is not easily compressed.
func padded(tb testing.TB, k int) program.Order {
	tb.Helper()
	size := smallDocument
	if k < largeDocuments {
		size = largeDocument
	}
	o := program.Building(tb, fmt.Sprintf("fill-%d", k))
	random := rand.New(rand.NewPCG(uint64(k), 0))
	padding := make([]byte, size-len(o.Body))
	for n := range padding {
		padding[n] = " \n\t\r"[random.IntN(4)]
	}
	o.Body = slices.Concat(padding, o.Body)
	return o
}

// TestMoveBehindNginx moves an organization of 10,000 runs and 1 GiB of documents from one cell to another, while
// clients start runs in it and in others of both cells. It prints what docs/guides/one-machine-to-many.md says of that.
func TestMoveBehindNginx(t *testing.T) { //nolint:paralleltest // it measures
	c := setupCellsBehindNginx(t)
	c.checkRoutes(t)
	told := program.NewHistory()
	began := time.Now()
	c.fill(t, told)
	t.Logf("%d runs started in %s", told.Size(), time.Since(began).Round(time.Second))
	program.AwaitRest(t, c.From.DB)
	steady := map[*program.Installation]*program.Load{}
	for i, token := range c.steady {
		steady[i] = program.StartLoad(t, token, c.paced(t))
	}
	load := program.StartLoad(t, c.moving, c.paced(t))
	load.AwaitProgress(t, 200)
	c.move(t, load, told)
	load.AwaitProgress(t, 200)
	load.Finish(t)
	for i, l := range steady {
		l.Finish(t)
		program.AwaitRest(t, i.DB)
		l.History.Check(t, i.DB, i.Tiny.ID)
		if l.Refused.Load() > 0 {
			t.Errorf("starts of an organization that did not move: %d refused, want none", l.Refused.Load())
		}
	}
	load.History.Add(told)
	load.History.Check(t, c.To.DB, c.From.Harbour.ID)
	program.CheckAtRest(t, c.To.DB)
	c.checkReplays(t, told)
	t.Logf("longest time without a start %s", load.Pause().Round(time.Millisecond))
}

// paced leads clients to nginx, so many times a second.
func (c *cellsBehindNginx) paced(tb testing.TB) func() string {
	tb.Helper()
	pace := time.NewTicker(time.Second / startsPerSecond)
	tb.Cleanup(pace.Stop)
	return func() string {
		<-pace.C
		return c.front.url()
	}
}

// move runs the command, and has clients of ours start runs while nothing can be started.
func (c *cellsBehindNginx) move(tb testing.TB, load *program.Load, told *program.History) {
	tb.Helper()
	began, size := time.Now(), load.History.Size()
	p := program.Launch(tb, c.From.Settings, "", c.Move()...)
	tell := func(step string) {
		program.Await(tb, "the move does "+step, func() bool {
			if p.HasEnded() && !strings.Contains(p.Stdout(), ": "+step+": ") {
				tb.Fatalf("the move ended before %s: %s", step, p.Stderr())
			}
			return strings.Contains(p.Stdout(), ": "+step+": ")
		})
		now := load.History.Size()
		tb.Logf("%s after %s, with %d starts since the step before",
			step, time.Since(began).Round(time.Millisecond), now-size)
		size = now
	}
	for copied := -1; !strings.Contains(p.Stdout(), ": plan: "); {
		program.Await(tb, "documents are copied", func() bool {
			now := program.Count(tb, c.To.DB, "SELECT count(*) FROM submissions WHERE org_id = $1", c.From.Harbour.ID)
			moves := now > copied || p.HasEnded() || strings.Contains(p.Stdout(), ": plan: ")
			copied = now
			return moves
		})
	}
	tell("plan")
	tell("stop")
	attempts := c.startPatiently(tb)
	tell("rest")
	tell("copy")
	tell("switch")
	tell("delete")
	if got := p.ExitCode(tb); got != 0 {
		tb.Fatalf("exit code of the move = %d, want 0", got)
	}
	tb.Log(p.Stdout())
	sent := attempts(told)
	tb.Logf("attempts of %d clients with the usual retries: %v", patientClients, sent)
	if slices.Min(sent) < 2 {
		tb.Error("a client has started a run during the move at once")
	}
}

// startPatiently starts runs with the client that people use, and returns how to learn how often each was sent.
func (c *cellsBehindNginx) startPatiently(tb testing.TB) func(*program.History) []int {
	tb.Helper()
	caller, err := client.New(c.front.url(), client.WithToken(c.moving))
	if err != nil {
		tb.Fatal(err)
	}
	start := func(n int) client.Started {
		o := program.Building(tb, fmt.Sprintf("patient-%d", n))
		started, err := caller.Start(tb.Context(), client.StartRequest{
			Workflow: o.Workflow, Key: o.Key, Content: bytes.NewReader(o.Body), MediaType: o.MediaType,
		})
		if err != nil {
			tb.Errorf("start with key %s: %v", o.Key, err)
		}
		return started
	}
	first := make([]client.Started, patientClients)
	var group sync.WaitGroup
	for n := range first {
		group.Go(func() { first[n] = start(n) })
	}
	return func(told *program.History) []int {
		group.Wait()
		attempts := make([]int, patientClients)
		for n, answer := range first {
			attempts[n] = answer.Attempts
			if again := start(n); !again.Replayed || again.Run.ID != answer.Run.ID {
				tb.Errorf("replay of key %s = run %s, want %s", again.Key, again.Run.ID, answer.Run.ID)
			}
			if err := told.Note(answer.Key, c.stored(tb, answer.Key)); err != nil {
				tb.Error(err)
			}
		}
		return attempts
	}
}

// stored is the answer that the new cell keeps for a key.
func (c *cellsBehindNginx) stored(tb testing.TB, key string) program.Answer {
	tb.Helper()
	var a program.Answer
	if err := c.To.DB.Pool.QueryRow(tb.Context(), `SELECT response_body FROM idempotency_keys
		WHERE org_id = $1 AND key = $2`, c.From.Harbour.ID, key).Scan(&a.Body); err != nil {
		tb.Errorf("read the answer to key %s: %v", key, err)
	}
	return a
}

// checkReplays sends starts from before the move again.
func (c *cellsBehindNginx) checkReplays(tb testing.TB, told *program.History) {
	tb.Helper()
	caller := program.NewClient(tb, c.moving)
	for k := range smallDocuments + largeDocuments {
		if k%replayEvery != 0 {
			continue
		}
		o := padded(tb, k)
		if a := caller.Start(tb, c.front.url(), o); !a.Replayed() || told.Note(o.Key, a) != nil {
			tb.Errorf("replay of key %s after the move = %d %s, want the answer from before", o.Key, a.Status, a.Body)
		}
	}
}

// checkRoutes demands that a token leads to its cell from any host, and one without a cell to that of the host.
func (c *cellsBehindNginx) checkRoutes(tb testing.TB) {
	tb.Helper()
	const here, there = "validate.example.org", "b.validate.example.org"
	for _, route := range []struct {
		host, token string
		want        int
	}{
		{here, c.steady[c.From], http.StatusOK},
		{there, c.steady[c.From], http.StatusOK},
		{here, c.steady[c.To], http.StatusOK},
		{there, c.steady[c.To], http.StatusOK},
		{here, c.From.Harbour.Tokens.Viewer, http.StatusOK},
		{there, c.From.Harbour.Tokens.Viewer, http.StatusUnauthorized},
	} {
		request, err := http.NewRequestWithContext(tb.Context(), http.MethodGet, c.front.url()+"/api/me/", http.NoBody)
		if err != nil {
			tb.Fatal(err)
		}
		request.Host = route.host
		a, err := program.NewClient(tb, route.token).Do(request)
		if err != nil || a.Status != route.want {
			tb.Errorf("%.8s at %s = %d %s, %v, want %d", route.token, route.host, a.Status, a.Body, err, route.want)
		}
	}
}
