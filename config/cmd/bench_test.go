package cmd_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/config"
	"github.com/simplevalidations/simplevalidations/config/cmd"
)

// The benchmarks answer requests through the whole service but the network, for profiles of the start path:
//
//	go run ./core/coretest/withpostgres -- \
//	    go test -run '^$' -bench . -cpuprofile cpu.prof -memprofile mem.prof ./config/cmd

const document = `{"name": "Harbour House", "floor_area_m2": 120, "zones": [{"name": "hall", "area_m2": 100}]}`

func (s *stage) benchmark(b *testing.B, key func(n int64) string, want int) {
	b.Helper()
	ballast := make([]byte, cmd.Headroom)
	defer runtime.KeepAlive(ballast)
	var n atomic.Int64
	b.SetParallelism(16)
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			s.benchmarkOne(b, key(n.Add(1)), want)
		}
	})
}

func (s *stage) benchmarkOne(b *testing.B, key string, want int) {
	b.Helper()
	request := httptest.NewRequestWithContext(b.Context(), http.MethodPost,
		"/api/workflows/building/start/", bytes.NewBufferString(document))
	request.Header.Set("Authorization", "Bearer "+s.Harbour.Tokens.Executor)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Idempotency-Key", key)
	recorder := httptest.NewRecorder()
	s.Router.ServeHTTP(recorder, request)
	if recorder.Code != want {
		b.Fatalf("status = %d, want %d: %s", recorder.Code, want, recorder.Body)
	}
}

func BenchmarkStart(b *testing.B) {
	s := setup(b, func(settings *config.Settings) { settings.RunsPerMinute = 0 })
	prefix := uuid.NewString()
	s.benchmark(b, func(n int64) string { return prefix + strconv.FormatInt(n, 10) }, http.StatusCreated)
}

// BenchmarkLoneStart has nobody to share a commit with, so that it shows what the round trips cost.
func BenchmarkLoneStart(b *testing.B) {
	s := setup(b, func(settings *config.Settings) { settings.RunsPerMinute = 0 })
	prefix := uuid.NewString()
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		s.benchmarkOne(b, prefix+strconv.Itoa(n), http.StatusCreated)
	}
}

func BenchmarkReplay(b *testing.B) {
	s := setup(b)
	s.Must(b, http.StatusCreated, call{
		Method: http.MethodPost, Path: "/api/workflows/building/start/", Token: s.Harbour.Tokens.Executor,
		Body:   document,
		Header: http.Header{"Content-Type": {"application/json"}, "Idempotency-Key": {"the same"}},
	})
	s.benchmark(b, func(int64) string { return "the same" }, http.StatusCreated)
}
