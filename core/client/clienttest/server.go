// Package clienttest has an in-memory fake of the service for the tests of programs that use package client. It starts
// runs, keeps their idempotency keys and ends runs as the test says; it loses answers, delays them and refuses requests
// on demand. It validates nothing, and has only the routes that starting and following runs needs.
package clienttest

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core/api"
)

// Server is an in-memory service. It is an http.Handler as well, for tests with their own listener.
type Server struct {
	http *httptest.Server
	mux  *http.ServeMux

	mu     sync.Mutex
	runs   []api.Run
	uses   map[string]use
	starts int
	// moved is closed and replaced when a run changes.
	moved chan struct{}

	drops, busy int
	delay       time.Duration
	left        int
	held        bool
	result      api.RunResult
	steps       []api.Step
}

// use is what a key stands for.
type use struct {
	print     [sha256.Size]byte
	run       api.Run
	requestID string
}

// New starts a server on a free port of this machine. Close it at the end.
func New() *Server {
	s := NewHandler()
	s.http = httptest.NewServer(s)
	return s
}

// NewHandler makes a server without a port.
func NewHandler() *Server {
	s := &Server{
		mux: http.NewServeMux(), uses: make(map[string]use), moved: make(chan struct{}), left: -1,
		result: api.RunResultPass,
	}
	s.mux.HandleFunc("POST /api/workflows/{id}/start/", s.start)
	s.mux.HandleFunc("GET /api/runs/{$}", s.list)
	s.mux.HandleFunc("GET /api/runs/{id}/{$}", s.read)
	s.mux.HandleFunc("GET /api/runs/{id}/findings/", s.findings)
	s.mux.HandleFunc("GET /api/runs/{id}/events/", s.events)
	s.mux.HandleFunc("POST /api/runs/{id}/cancel/", s.cancel)
	s.mux.HandleFunc("/", s.nothing)
	return s
}

// URL is the base URL of a server that New made.
func (s *Server) URL() string { return s.http.URL }

// Close stops a server that New made.
func (s *Server) Close() {
	s.http.CloseClientConnections()
	s.http.Close()
}

// ServeHTTP answers as the service does.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Request-Id", uuid.NewString())
	s.mux.ServeHTTP(w, r)
}

// DropResponses loses the next answers to starts: the start is carried out, and then the connection breaks.
func (s *Server) DropResponses(n int) { s.set(func() { s.drops = n }) }

// Busy answers the next starts with 409, as if their key were in progress.
func (s *Server) Busy(n int) { s.set(func() { s.busy = n }) }

// Delay delays all answers.
func (s *Server) Delay(wait time.Duration) { s.set(func() { s.delay = wait }) }

// Quota is how many runs may still be started; below 0 there is no limit.
func (s *Server) Quota(left int) { s.set(func() { s.left = left }) }

// Outcome sets the result and the steps of the runs that are started from now on.
func (s *Server) Outcome(result api.RunResult, steps ...api.Step) {
	s.set(func() { s.result, s.steps = result, steps })
}

// Hold keeps the runs that are started from now on pending until they are ended by End.
func (s *Server) Hold() { s.set(func() { s.held = true }) }

// End completes a run with its steps.
func (s *Server) End(id string, result api.RunResult, steps ...api.Step) {
	s.set(func() {
		for i := range s.runs {
			if s.runs[i].ID == id && !s.runs[i].Completed() {
				s.runs[i] = ended(s.runs[i], result, steps)
			}
		}
		close(s.moved)
		s.moved = make(chan struct{})
	})
}

// Runs returns the runs that were started, in that order.
func (s *Server) Runs() []api.Run {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]api.Run{}, s.runs...)
}

// Starts counts the requests to start a run, including replays and refusals.
func (s *Server) Starts() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.starts
}

func (s *Server) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

func ended(run api.Run, result api.RunResult, steps []api.Step) api.Run {
	run.State, run.Result, run.Steps = api.RunStateCompleted, result, steps
	run.Status = api.RunStatus(result)
	switch result {
	case api.RunResultPass:
		run.Status = "SUCCEEDED"
	case api.RunResultFail:
		run.Status, run.ErrorCategory = "FAILED", "VALIDATION_FAILED"
	case api.RunResultError:
		run.Status, run.ErrorCategory = "FAILED", "SYSTEM_ERROR"
	case api.RunResultUnknown, api.RunResultCanceled, api.RunResultTimedOut:
	}
	now := api.At(time.Now())
	run.StartedAt, run.EndedAt, run.Attempts = now, now, 1
	for _, step := range steps {
		run.Counts.Errors += step.Counts.Errors
		run.Counts.Warnings += step.Counts.Warnings
		run.Counts.Infos += step.Counts.Infos
	}
	return run
}

// newRun makes a pending run.
func newRun(workflow, key string) (api.Run, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return api.Run{}, fmt.Errorf("make an id: %w", err)
	}
	return api.Run{
		ID: id.String(), Workflow: uuid.NewString(), WorkflowSlug: workflow, WorkflowVersion: 1,
		Submission: uuid.NewString(), Org: "acme", Source: "API", State: api.RunStatePending,
		Result: api.RunResultUnknown, Status: "PENDING", IdempotencyKey: api.Optional(key),
		CreatedAt: api.At(time.Now()), Steps: []api.Step{},
	}, nil
}
