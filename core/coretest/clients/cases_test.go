package clients

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/coretest/program"
)

// listedRuns is how many runs the organization of the lists has.
const listedRuns = 5

// world is what the cases happen in.
type world struct {
	*program.Installation
	server *program.Server
	listed program.Tenant
}

// newWorld serves an installation with an organization more, whose runs are listed.
func newWorld(tb testing.TB) *world {
	tb.Helper()
	w := &world{Installation: program.Install(tb, "SV_MAX_BODY_BYTES=10000000")}
	w.server = program.Serve(tb, w.Settings)
	w.listed = w.Enroll(tb, w.server.URL(), "listed")
	c := program.NewClient(tb, w.listed.Tokens.Owner)
	for n := range listedRuns {
		program.WantCreated(tb, c.Start(tb, w.server.URL(), program.Building(tb, fmt.Sprint("listed-", n))))
	}
	return w
}

// TestCases goes through the table with each client.
func TestCases(t *testing.T) {
	t.Parallel()
	cases, err := Cases()
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	for name, start := range drivers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			driver := start(t)
			for _, c := range cases {
				t.Run(c.Name, func(t *testing.T) {
					t.Parallel()
					p := w.prepare(t, c)
					got := p.do(t, driver)
					p.check(t, got, c.Expect)
					if c.Again == nil {
						return
					}
					if p.call.Args.Key == "" && p.call.Args.KeyFile == "" {
						p.call.Args.Key = got.Key
					}
					p.before = len(p.proxy.Requests("start"))
					p.check(t, p.do(t, start(t)), *c.Again)
				})
			}
		})
	}
}

// prepared is a case that is about to be tried.
type prepared struct {
	world *world
	proxy *Proxy
	call  Call
	given string
	// before is how many starts were sent by an earlier call.
	before int
}

func (w *world) prepare(tb testing.TB, c Case) *prepared {
	tb.Helper()
	p := &prepared{world: w, proxy: NewProxy(tb, w.server.URL(), c.Server == "tls", InTurn(c.Faults))}
	p.proxy.PageSize, p.proxy.Evil = c.PageSize, neverReached(tb)
	key := "case-" + uuid.NewString()
	p.call = Call{ID: key, Op: c.Op, Args: p.arguments(tb, c.Args), Options: filledOptions(c.Options)}
	p.call.Args.Key = strings.ReplaceAll(p.call.Args.Key, "$KEY", key)
	p.call.BaseURL = p.address(tb, c.Server)
	p.call.Token = map[string]string{
		"": w.Harbour.Tokens.Executor, "bad": "sv_of-nobody", "listed": w.listed.Tokens.Owner,
	}[c.Token]
	if c.Given != nil {
		p.given = w.give(tb, *c.Given, key)
		p.call.Args.RunID = strings.ReplaceAll(p.call.Args.RunID, "$RUN", p.given)
	}
	return p
}

// neverReached is the base URL of a server that no request may come to.
func neverReached(tb testing.TB) string {
	tb.Helper()
	var reached atomic.Int64
	evil := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	tb.Cleanup(func() {
		evil.Close()
		if reached.Load() != 0 {
			tb.Errorf("requests to the other server = %d, want none", reached.Load())
		}
	})
	return evil.URL
}

func (p *prepared) address(tb testing.TB, kind string) string {
	tb.Helper()
	switch kind {
	case "down":
		return "http://" + coretest.FreeAddress(tb)
	case "not_tls":
		return strings.Replace(p.proxy.URL, "http://", "https://", 1)
	default:
		return p.proxy.URL
	}
}

func (p *prepared) arguments(tb testing.TB, args Args) Command {
	tb.Helper()
	command := args.Command
	line := []byte("0123456,89\n")
	content := bytes.Repeat(line, args.FileBytes/len(line)+1)[:args.FileBytes]
	if args.Document != "" {
		content = program.Sample(tb, args.Document)
	}
	if args.AsFile || args.FileBytes > 0 {
		command.File = filepath.Join(tb.TempDir(), "document")
		if err := os.WriteFile(command.File, content, 0o600); err != nil {
			tb.Fatal(err)
		}
	} else if args.Document != "" {
		command.ContentBase64 = base64.StdEncoding.EncodeToString(content)
	}
	if args.UseKeyFile {
		command.KeyFile = filepath.Join(tb.TempDir(), "key")
	}
	return command
}

func filledOptions(o Options) Options {
	filled := DefaultOptions()
	for _, option := range []struct{ to, from *int }{
		{&filled.Attempts, &o.Attempts},
		{&filled.MinWaitMS, &o.MinWaitMS},
		{&filled.MaxWaitMS, &o.MaxWaitMS},
		{&filled.BudgetMS, &o.BudgetMS},
		{&filled.AttemptTimeoutMS, &o.AttemptTimeoutMS},
	} {
		if *option.from != 0 {
			*option.to = *option.from
		}
	}
	return filled
}

// give starts a run without the client under test, and returns its id.
func (w *world) give(tb testing.TB, g Given, key string) string {
	tb.Helper()
	order := program.Order{Workflow: g.Workflow, Key: "given-" + key, Body: program.Sample(tb, g.Document)}
	order.MediaType = map[string]string{".csv": "text/csv", ".json": "application/json"}[filepath.Ext(g.Document)]
	if g.Key != "" {
		order.Key = strings.ReplaceAll(g.Key, "$KEY", key)
	}
	started := program.NewClient(tb, w.Harbour.Tokens.Executor).Start(tb, w.server.URL(), order)
	program.WantCreated(tb, started)
	id := started.Run(tb).String()
	if g.Ended {
		program.Await(tb, "the given run ends", func() bool {
			const query = "SELECT count(*) FROM validation_runs WHERE id = $1 AND state = 'COMPLETED'"
			return program.Count(tb, w.DB, query, id) == 1
		})
	}
	return id
}

func (p *prepared) do(tb testing.TB, driver Driver) Outcome {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), 2*program.Patience)
	defer cancel()
	got, err := driver.Do(ctx, p.call)
	if err != nil {
		tb.Fatal(err)
	}
	return got
}
