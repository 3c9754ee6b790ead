package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// standIn answers as the service does, apart from the fault that it was given.
type standIn struct {
	fault string
	mu    sync.Mutex
	runs  map[string]int
}

func (s *standIn) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key := r.Header.Get("Idempotency-Key")
	number, known := s.runs[key]
	if !known {
		number = len(s.runs) + 1
		s.runs[key] = number
	}
	if known != (s.fault == "wrong mark") {
		w.Header().Set("Idempotent-Replayed", "true")
	}
	shown := number
	if s.fault == "wrong run" || (s.fault == "other body" && known) {
		shown = -1
	}
	w.Header().Set("Location", fmt.Sprintf("/api/runs/%d/", number))
	status := http.StatusCreated
	if s.fault == "busy" {
		status = http.StatusServiceUnavailable
	}
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"id":"%d"}`, shown)
}

func setup(t *testing.T) (*standIn, service) {
	t.Helper()
	handler := &standIn{runs: make(map[string]int)}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	s := service{
		addresses: []string{strings.TrimPrefix(server.URL, "http://")}, tenants: samplesOf(t).newTenants(),
	}
	if err := s.prime(t.Context()); err != nil {
		t.Fatalf("prime: %v", err)
	}
	return handler, s
}

func TestMeasure(t *testing.T) {
	t.Parallel()
	const clients, duration = 4, 50 * time.Millisecond

	t.Run("CountsWhatWasAcknowledged", func(t *testing.T) {
		t.Parallel()
		handler, s := setup(t)
		done := allTenants
		for _, what := range []work{workMany, workHot} {
			got, err := s.measure(t.Context(), row{what, clients}, duration)
			if err != nil {
				t.Fatalf("measure: %v", err)
			}
			if got.requests < clients || got.requests != len(got.latencies) || got.elapsed < duration {
				t.Errorf("sample of %d requests, %d latencies, %s; want one per request", got.requests,
					len(got.latencies), got.elapsed)
			}
			done += got.requests
		}
		var acknowledged int
		for _, tenant := range s.tenants {
			acknowledged += int(tenant.acknowledged.Load())
		}
		if acknowledged != done || len(handler.runs) != done {
			t.Errorf("acknowledged = %d, runs = %d, want %d", acknowledged, len(handler.runs), done)
		}
	})

	t.Run("StartsNothingByReplays", func(t *testing.T) {
		t.Parallel()
		handler, s := setup(t)
		if _, err := s.measure(t.Context(), row{workReplay, clients}, duration); err != nil {
			t.Fatalf("measure: %v", err)
		}
		if got := len(handler.runs); got != allTenants {
			t.Errorf("runs = %d, want %d", got, allTenants)
		}
	})

	for _, tt := range []struct {
		fault string
		what  work
		want  string
	}{
		{"busy", workMany, "answered with 503"},
		{"wrong mark", workHot, "was replayed"},
		{"wrong run", workMany, "not that of the run"},
		{"wrong mark", workReplay, "does not say so"},
		{"other body", workReplay, "the first request with"},
		{"busy", workReplay, "answered with 503"},
	} {
		t.Run("Refuses/"+tt.fault+"/"+string(tt.what), func(t *testing.T) {
			t.Parallel()
			handler, s := setup(t)
			handler.fault = tt.fault
			_, err := s.measure(t.Context(), row{tt.what, clients}, time.Hour)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error = %v, want one with %q", err, tt.want)
			}
		})
	}
}
