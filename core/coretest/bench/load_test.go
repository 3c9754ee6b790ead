package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// standIn answers as the service does, apart from the fault that it was given.
type standIn struct {
	fault string
	// begun hears of each new run.
	begun func()
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
		s.begun()
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

func setup(t *testing.T) (*standIn, loader) {
	t.Helper()
	service := &standIn{begun: func() {}, runs: make(map[string]int)}
	server := httptest.NewServer(service)
	t.Cleanup(server.Close)
	tenants, err := newTenants()
	if err != nil {
		t.Fatalf("make tenants: %v", err)
	}
	address := strings.TrimPrefix(server.URL, "http://")
	if _, err := prime(t.Context(), address, tenants); err != nil {
		t.Fatalf("prime: %v", err)
	}
	own := meter{services: []int{os.Getpid()}, postgres: os.Getpid()}
	return service, loader{address: address, tenants: tenants, meter: own}
}

func TestLoader(t *testing.T) {
	t.Parallel()
	const clients, duration = 4, 50 * time.Millisecond

	t.Run("CountsWhatWasAcknowledged", func(t *testing.T) {
		t.Parallel()
		service, l := setup(t)
		done := allTenants
		for _, what := range []work{workMany, workHot} {
			got, err := l.measure(t.Context(), what, clients, duration)
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
		for _, tenant := range l.tenants {
			acknowledged += int(tenant.acknowledged.Load())
		}
		if acknowledged != done || len(service.runs) != done {
			t.Errorf("acknowledged = %d, runs = %d, want %d", acknowledged, len(service.runs), done)
		}
	})

	t.Run("StartsNothingByReplays", func(t *testing.T) {
		t.Parallel()
		service, l := setup(t)
		if _, err := l.measure(t.Context(), workReplay, clients, duration); err != nil {
			t.Fatalf("measure: %v", err)
		}
		if got := len(service.runs); got != allTenants {
			t.Errorf("runs = %d, want %d", got, allTenants)
		}
	})

	t.Run("CountsOthersAlone", func(t *testing.T) {
		t.Parallel()
		service, l := setup(t)
		got, err := l.measure(t.Context(), workOthers, clients, duration)
		if err != nil {
			t.Fatalf("measure: %v", err)
		}
		if started := len(service.runs) - allTenants; got.requests == 0 || got.requests > started {
			t.Errorf("counted %d of %d starts, want those of the others", got.requests, started)
		}
	})

	t.Run("KeepsThePaceAndCountsRefusals", func(t *testing.T) {
		t.Parallel()
		service, l := setup(t)
		const perSecond, enough = 200, 20
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		service.fault, service.begun = "busy", func() {
			if len(service.runs) == allTenants+enough {
				cancel()
			}
		}
		began := time.Now()
		got, err := l.pace(ctx, perSecond, clients)
		if err != nil {
			t.Fatalf("pace: %v", err)
		}
		// A busy machine sends later than it is due, and nothing sends sooner.
		most := int(perSecond * time.Since(began).Seconds())
		if n := len(got.latencies); n < enough || n > most || got.refused != n {
			t.Errorf("%d requests, %d refused; want %d to %d, all refused", n, got.refused, enough, most)
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
			service, l := setup(t)
			service.fault = tt.fault
			_, err := l.measure(t.Context(), tt.what, clients, time.Hour)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error = %v, want one with %q", err, tt.want)
			}
		})
	}
}

func TestParseStat(t *testing.T) {
	t.Parallel()
	text := "7 (a name) (of 2) S 1 7 7 0 -1 4194560 100 200 0 0 250 50 30 20 20 0 9 0 100 0 0\n"
	got, err := parseStat([]byte(text))
	if err != nil {
		t.Fatalf("parse: %v", err)
	}
	want := processStat{parent: 1, used: 3 * time.Second, ended: 500 * time.Millisecond}
	if got != want {
		t.Errorf("stat = %+v, want %+v", got, want)
	}
}
