package client_test

import (
	"context"
	"errors"
	"fmt"
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
		"ComesBackToAStreamThatBreaks": {func(service http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				// The first stream ends after half a minute, as behind a proxy.
				if isEvents(r) && r.Header.Get("Last-Event-ID") == "" {
					ctx, cancel := context.WithTimeout(r.Context(), 30*time.Second)
					defer cancel()
					r = r.WithContext(ctx)
				}
				service.ServeHTTP(w, r)
			})
		}, whole, 0},
		"ReadsPatientlyWithoutEvents": {func(service http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if isEvents(r) {
					http.NotFound(w, r)
					return
				}
				service.ServeHTTP(w, r)
			})
		}, ends, 0},
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
		"PollsWhereReadsDoNotWait": {func(service http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch {
				case isEvents(r):
					http.NotFound(w, r)
				case r.URL.RawQuery != "":
					refuses(api.CodeInvalidParameter, http.StatusBadRequest, false, "")(w, r)
				default:
					service.ServeHTTP(w, r)
				}
			})
		}, ends, time.Second},
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

func TestWaitOutlastsARestart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		_, run, err := follow(t, func(service http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if time.Since(began) < 50*time.Second {
					bare(http.StatusBadGateway)(w, r)
					return
				}
				service.ServeHTTP(w, r)
			})
		})
		if err != nil || !run.Completed() {
			t.Errorf("run = %+v and error %v, want the completed run", run, err)
		}
	})
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

	t.Run("WhereThereIsNoRun", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			_, err := made(t, serve(t, clienttest.NewHandler())).Wait(t.Context(), runID, nil)
			if !errors.Is(err, api.CodeNotFound) {
				t.Errorf("error = %v, want not found", err)
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

func TestLists(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const total, size = 7, 3
		var pages atomic.Int64
		c := made(t, serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			pages.Add(1)
			var first int
			_, _ = fmt.Sscan(r.URL.Query().Get("cursor"), &first) // Without a number it is the first page.
			var runs []string
			for i := first; i < min(first+size, total); i++ {
				runs = append(runs, fmt.Sprintf(`{"id": "%d"}`, i))
			}
			next := ""
			if first+size < total {
				next = fmt.Sprintf("/api/runs/?cursor=%d", first+size)
			}
			fmt.Fprintf(w, `{"next": %q, "previous": "", "results": [%s]}`, next, strings.Join(runs, ","))
		})))
		var ids []string
		for run, err := range c.Runs(client.RunFilter{State: api.RunStateCompleted}).All(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, run.ID)
		}
		if got := strings.Join(ids, ""); got != "0123456" || pages.Load() != 3 {
			t.Errorf("runs = %s on %d pages, want 0123456 on 3", got, pages.Load())
		}
		for _, err := range c.Runs(client.RunFilter{}).All(t.Context()) {
			if err != nil {
				t.Error(err)
			}
			break
		}
		if pages.Load() != 4 {
			t.Errorf("pages = %d, want one more for a list that was left at once", pages.Load())
		}
	})
}

func TestListsDoNotFollowForgedLinks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, next := range []string{"http://evil.example/api/runs/", "//evil.example/api/runs/", "evil"} {
			c := made(t, serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				_, _ = io.WriteString(w, `{"next": "`+next+`", "results": []}`) // The test sees what is missing.
			})))
			var last error
			for _, err := range c.Runs(client.RunFilter{}).All(t.Context()) {
				last = err
			}
			if last == nil || !strings.Contains(last.Error(), "is not a path") {
				t.Errorf("error = %v for the link %s, want that it is refused", last, next)
			}
		}
	})
}
