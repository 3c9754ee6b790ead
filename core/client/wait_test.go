package client_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/client"
	"github.com/simplevalidations/simplevalidations/core/client/clienttest"
)

// following is a run that is waited for, with the events that were reported.
type following struct {
	server *clienttest.Server
	run    api.Run
	told   []string
}

// follow starts a run that ends after a minute with one passed step, and waits for it with a client whose requests pass
// the handler first.
func follow(t *testing.T, between func(http.Handler) http.Handler) (following, api.Run, error) {
	t.Helper()
	f := following{server: clienttest.NewHandler()}
	f.server.Hold()
	started, err := made(t, serve(t, f.server)).Start(t.Context(), document())
	if err != nil {
		t.Fatal(err)
	}
	f.run = started.Run
	time.AfterFunc(time.Minute, func() {
		f.server.End(f.run.ID, api.RunResultPass, api.Step{StepID: "table", Status: api.StepStatusPassed})
	})
	run, err := made(t, serve(t, between(f.server))).Wait(t.Context(), f.run.ID, func(e client.Event) {
		f.told = append(f.told, e.Name)
	})
	return f, run, err
}

func isEvents(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/events/") }

func TestWait(t *testing.T) {
	t.Parallel()
	whole := []string{"run.created", "step.completed", "run.completed"}
	ends := []string{"step.completed", "run.completed"}
	for name, tt := range map[string]struct {
		between func(http.Handler) http.Handler
		told    []string
		// within is how long after the end of the run it may take to notice.
		within time.Duration
	}{
		"FollowsEvents": {func(service http.Handler) http.Handler { return service }, whole, 0},
		"GivesASilentStreamUp": {func(service http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if isEvents(r) {
					w.Header().Set("Content-Type", "text/event-stream")
					_ = http.NewResponseController(w).Flush() // The client sees that nothing comes.
					<-r.Context().Done()
					return
				}
				service.ServeHTTP(w, r)
			})
		}, ends, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				f, run, err := follow(t, tt.between)
				if err != nil {
					t.Fatal(err)
				}
				if run.ID != f.run.ID || run.Result != api.RunResultPass || len(run.Steps) != 1 {
					t.Errorf("run = %+v, want the passed run with its step", run)
				}
				if diff := cmp.Diff(tt.told, f.told); diff != "" {
					t.Errorf("events (-want +got):\n%s", diff)
				}
				if took := time.Since(began); took > time.Minute+tt.within {
					t.Errorf("took %v, want at most %v more than the run", took, tt.within)
				}
			})
		})
	}
}

func TestWaitEnds(t *testing.T) {
	t.Parallel()

	t.Run("WithTheContext", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			server := clienttest.NewHandler()
			server.Hold()
			c := made(t, serve(t, server))
			started, err := c.Start(t.Context(), document())
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if _, err := c.Wait(ctx, started.Run.ID, nil); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("error = %v, want that of the context", err)
			}
			if server.Runs()[0].Completed() {
				t.Error("the run has ended with the wait, want it to go on")
			}
		})
	})

	t.Run("WhenTheServiceStaysAway", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			_, err := made(t, refusesAll()).Wait(t.Context(), runID, nil)
			if _, ok := errors.AsType[*client.UnreachableError](err); !ok {
				t.Errorf("error = %v, want that nobody was reached", err)
			}
			if took := time.Since(began); took < 2*time.Minute || took > 3*time.Minute {
				t.Errorf("took %v, want some more than two minutes", took)
			}
		})
	})
}

func TestListsReadNoMoreThanIsAskedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var pages atomic.Int64
		c := made(t, serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			pages.Add(1)
			// The test sees what is missing.
			_, _ = io.WriteString(w, `{"next": "/api/runs/?cursor=1", "previous": "", "results": [{"id": "0"}]}`)
		})))
		for _, err := range c.Runs(client.RunFilter{}).All(t.Context()) {
			if err != nil {
				t.Error(err)
			}
			break
		}
		if pages.Load() != 1 {
			t.Errorf("pages = %d, want one for a list that was left at once", pages.Load())
		}
	})
}
