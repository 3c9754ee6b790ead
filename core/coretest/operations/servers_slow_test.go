//go:build slow

package operations

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/coretest/program"
)

const (
	// A key is sent so often at once, and so many keys are.
	stormRequests, stormKeys = 64, 20
	// So many clients start so many runs, each under a key of its own.
	crowdClients, crowdStarts = 64, 1500
	kills                     = 3
)

// TestServersBehindNginx has members of an installation killed and restarted while clients know nginx alone. It
// measures, so each stack has the machine for itself.
func TestServersBehindNginx(t *testing.T) {
	for _, stack := range []struct {
		name    string
		servers int
		pooler  string
	}{
		{name: "1Server", servers: 1},
		{name: "2Servers", servers: 2},
		{name: "4Servers", servers: 4},
		{name: "2ServersPooled", servers: 2, pooler: "pgbouncer"},
		{name: "4ServersPooled", servers: 4, pooler: "pgbouncer"},
	} {
		t.Run(stack.name, func(t *testing.T) {
			t.Setenv(program.PoolerVariable, stack.pooler)
			i := program.Install(t, "SV_TRUSTED_PROXIES=127.0.0.0/8", "SV_DB_MAX_CONNS=20")
			front := newNginx(t, serve(t, i, stack.servers))
			client := program.NewClient(t, i.Harbour.Tokens.Executor)
			told := program.NewHistory()
			for k := range stormKeys {
				storm(t, client, front.url(), program.Building(t, fmt.Sprintf("storm-%d", k)), told)
			}
			begun := time.Now()
			crowd(t, client, front.url(), told, "crowd", crowdStarts)
			t.Logf("%s: %.0f starts/s by %d clients", stack.name,
				crowdStarts/time.Since(begun).Seconds(), crowdClients)
			program.AwaitRest(t, i.DB)
			l := program.StartLoad(t, i.Harbour.Tokens.Executor, front.url)
			l.History.Add(told)
			killMembers(t, front, i, l)
			if stack.servers > 1 {
				restartMembers(t, front, i, l)
			}
			l.Finish(t)
			program.CheckAtRest(t, i.DB)
			l.History.Check(t, i.DB, i.Harbour.ID)
		})
	}
}

func serve(tb testing.TB, i *program.Installation, count int) []*program.Server {
	tb.Helper()
	servers := make([]*program.Server, count)
	for n := range servers {
		servers[n] = program.Serve(tb, i.Settings)
	}
	return servers
}

// storm sends one request many times at once. One answer is the first, and the others repeat it or ask to come again.
func storm(tb testing.TB, c *program.Client, base string, o program.Order, told *program.History) {
	tb.Helper()
	answers := make([]program.Answer, stormRequests)
	failures := make([]error, stormRequests)
	var group sync.WaitGroup
	for n := range answers {
		group.Go(func() { answers[n], failures[n] = c.Try(tb.Context(), base, o) })
	}
	group.Wait()
	firsts := 0
	for n, a := range answers {
		switch {
		case failures[n] != nil:
			tb.Fatalf("key %s was not answered: %v", o.Key, failures[n])
		case a.Created():
			if err := told.Note(o.Key, a); err != nil {
				tb.Error(err)
			}
			if !a.Replayed() {
				firsts++
			}
		default:
			program.WantProblem(tb, a, http.StatusConflict, api.CodeKeyInProgress)
		}
	}
	if firsts != 1 {
		tb.Errorf("first answers to key %s = %d, want 1", o.Key, firsts)
	}
}

// crowd starts many runs as fast as it goes, each once. Every one has to be answered.
func crowd(tb testing.TB, c *program.Client, base string, told *program.History, name string, starts int) {
	tb.Helper()
	order := program.Building(tb, "")
	var group sync.WaitGroup
	for n := range crowdClients {
		group.Go(func() {
			for k := n; k < starts; k += crowdClients {
				o := order
				o.Key = fmt.Sprintf("%s-%d", name, k)
				a, err := c.Try(tb.Context(), base, o)
				if err != nil || !a.Created() || a.Replayed() {
					tb.Errorf("start with key %s = %d %s, %v, want a first 201", o.Key, a.Status, a.Body, err)
					return
				}
				if err := told.Note(o.Key, a); err != nil {
					tb.Error(err)
				}
			}
		})
	}
	group.Wait()
}

// killMembers kills one server after the other and starts it again.
func killMembers(tb testing.TB, front *nginx, i *program.Installation, l *program.Load) {
	tb.Helper()
	for range kills {
		l.AwaitProgress(tb, 20+rand.IntN(40))
		n := rand.IntN(len(front.servers))
		front.servers[n].Kill()
		front.servers[n] = front.servers[n].Again(tb, i.Settings)
	}
}

// restartMembers restarts all servers as an update does, each after nginx was configured to send it nothing.
func restartMembers(tb testing.TB, front *nginx, i *program.Installation, l *program.Load) {
	tb.Helper()
	for n, s := range front.servers {
		l.AwaitProgress(tb, 20)
		front.takeOut(tb, s)
		s.Signal(tb, syscall.SIGTERM)
		if got := s.ExitCode(tb); got != 0 {
			tb.Errorf("exit code under load = %d, want 0", got)
		}
		front.servers[n] = s.Again(tb, i.Settings)
		front.takeOut(tb, nil)
	}
}

// TestNginxAnswersForTheService looks at what clients see of nginx itself.
func TestNginxAnswersForTheService(t *testing.T) {
	t.Parallel()
	i := program.Install(t, "SV_TRUSTED_PROXIES=127.0.0.1/32")
	servers := serve(t, i, 1)
	front := newNginx(t, servers)
	c := program.NewClient(t, i.Harbour.Tokens.Executor)

	large := program.Building(t, "large")
	large.Body = append(large.Body, strings.Repeat(" ", 11<<20)...)
	program.WantProblem(t, c.Start(t, front.url(), large), http.StatusRequestEntityTooLarge, api.CodePayloadTooLarge)
	checkAddress(t, i, front)

	servers[0].Kill()
	keyed := program.WantProblem(t, c.Start(t, front.url(), program.Building(t, "away")),
		http.StatusServiceUnavailable, api.CodeOutcomeUnknown)
	if !keyed.Retryable || keyed.RequestID == "" || keyed.Title != core.Spec(api.CodeOutcomeUnknown).Title {
		t.Errorf("problem = %+v, want the service's own, retryable and with a request id", keyed)
	}
	bare := program.WantProblem(t, c.Start(t, front.url(), program.Building(t, "")),
		http.StatusServiceUnavailable, api.CodeOutcomeUnknown)
	if bare.Retryable {
		t.Error("a start without a key is retryable, want that it is not")
	}
	read := program.WantProblem(t, c.Get(t, front.url()+"/api/runs/"),
		http.StatusServiceUnavailable, api.CodeUnavailable)
	if !read.Retryable || read.Title != core.Spec(api.CodeUnavailable).Title {
		t.Errorf("problem = %+v, want the service's own, and retryable", read)
	}
}

// checkAddress starts a run from another address of this machine than nginx has, and demands that it is noted, and not
// the one that the client has made up.
func checkAddress(tb testing.TB, i *program.Installation, front *nginx) {
	tb.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
	client := http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, network, front.address)
		},
	}}
	o := program.Building(tb, "address")
	request, err := o.Request(tb.Context(), front.url())
	if err != nil {
		tb.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+i.Harbour.Tokens.Executor)
	request.Header.Set("X-Forwarded-For", "192.0.2.1")
	response, err := client.Do(request)
	if err != nil || response.StatusCode != http.StatusCreated {
		tb.Fatalf("start = %+v, %v, want 201", response, err)
	}
	response.Body.Close()
	got := coretest.One[string](tb, i.DB, "SELECT host(request_ip) FROM idempotency_keys WHERE key = $1", o.Key)
	if got != "127.0.0.2" {
		tb.Errorf("address = %s, want 127.0.0.2", got)
	}
}
