//go:build slow

package operations

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/coretest/program"
)

const (
	rollingClients = 16
	// rollingStarts is how many requests the clients send at least while processes are replaced.
	rollingStarts = 10_000
	// rollingDelay is longer than nginx keeps idle connections in this test. It is also longer than the two seconds for
	// which nginx leaves a process alone that it could not reach.
	rollingDelay = "SV_SHUTDOWN_DELAY=5s"
)

// TestRollingRestart replaces processes one after the other under clients that send each request once.
//
//nolint:paralleltest // Each has the machine for itself: it counts requests.
func TestRollingRestart(t *testing.T) {
	t.Run("BehindNginx", func(t *testing.T) {
		i := program.Install(t, "SV_TRUSTED_PROXIES=127.0.0.0/8", rollingDelay)
		servers := serve(t, i, 2)
		front := newNginx(t, servers)
		roll(t, i, servers, func() string { return front.url() })
	})

	// As in Kubernetes, what sends requests looks at the readiness of each process.
	t.Run("ByReadiness", func(t *testing.T) {
		i := program.Install(t, rollingDelay)
		servers := serve(t, i, 2)
		roll(t, i, servers, newBalancer(t, servers).next)
	})
}

// roll restarts the servers in turn until the clients have sent their requests, all of which must be answered 201.
func roll(t *testing.T, i *program.Installation, servers []*program.Server, base func() string) {
	t.Helper()
	client := program.NewClient(t, i.Harbour.Tokens.Executor)
	var sent, broken atomic.Int64
	stop := make(chan struct{})
	var group sync.WaitGroup
	for c := range rollingClients {
		group.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				a, err := client.Try(t.Context(), base(), program.Building(t, fmt.Sprintf("rolling-%d-%d", c, n)))
				sent.Add(1)
				if err != nil || !a.Created() {
					broken.Add(1)
					t.Logf("request %d of client %d = %d %s, %v", n, c, a.Status, a.Body, err)
				}
			}
		})
	}
	restarts := 0
	for ; sent.Load() < rollingStarts || restarts < 2*len(servers); restarts++ {
		at := restarts % len(servers)
		servers[at].Signal(t, syscall.SIGTERM)
		if code := servers[at].ExitCode(t); code != 0 {
			t.Errorf("exit code = %d, want 0", code)
		}
		servers[at] = servers[at].Again(t, i.Settings)
	}
	close(stop)
	group.Wait()
	t.Logf("%d requests, %d restarts, %d broken", sent.Load(), restarts, broken.Load())
	if broken.Load() != 0 {
		t.Errorf("%d of %d requests are broken, want 0", broken.Load(), sent.Load())
	}
}

// balancer knows which addresses are ready.
type balancer struct {
	mu    sync.Mutex
	ready []string
	turn  int
}

// newBalancer sends probes to the addresses of the servers until the test ends.
func newBalancer(tb testing.TB, servers []*program.Server) *balancer {
	tb.Helper()
	b := &balancer{}
	addresses := make([]string, len(servers))
	for i, s := range servers {
		addresses[i] = s.URL()
	}
	b.ready = slices.Clone(addresses)
	go func() {
		for tb.Context().Err() == nil {
			ready := slices.DeleteFunc(slices.Clone(addresses), func(address string) bool {
				return !coretest.Answers(tb.Context(), address+"/readyz/")
			})
			b.mu.Lock()
			b.ready = ready
			b.mu.Unlock()
		}
	}()
	return b
}

func (b *balancer) next() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.turn++
	return b.ready[b.turn%len(b.ready)]
}
