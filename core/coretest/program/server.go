package program

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/core/coretest"
)

// Server is the program while it serves.
type Server struct {
	*Process
	address, metrics string
	args             []string
}

// Serve starts a server on a free port and waits until it is ready.
func Serve(tb testing.TB, settings []string, args ...string) *Server {
	tb.Helper()
	s := serveOn(tb, coretest.FreeAddress(tb), settings, args...)
	if !s.awaitReady(tb) {
		tb.Fatalf("the server ended before it was ready: %s", tail(s.Stderr()))
	}
	return s
}

// serveOn does not wait.
func serveOn(tb testing.TB, address string, settings []string, args ...string) *Server {
	tb.Helper()
	metrics := coretest.FreeAddress(tb)
	settings = append([]string{"SV_METRICS_ADDR=" + metrics}, append(slices.Clip(settings), "SV_ADDR="+address)...)
	return &Server{
		Process: Launch(tb, settings, "", append([]string{"serve"}, args...)...),
		address: address, metrics: metrics, args: args,
	}
}

// queued counts the starts that wait in the server for their commit.
func (s *Server) queued(tb testing.TB) int {
	tb.Helper()
	return s.Metric(tb, "sv_start_queue")
}

// Metric reads a metric that is a number without labels.
func (s *Server) Metric(tb testing.TB, name string) int {
	tb.Helper()
	n, err := coretest.Metric(tb.Context(), s.metrics, name)
	if err != nil {
		tb.Fatal(err)
	}
	return int(n)
}

// URL is the address that the server answers at, without a slash at its end.
func (s *Server) URL() string { return "http://" + s.address }

// Again starts the server anew on its old address with its old arguments, after its end.
func (s *Server) Again(tb testing.TB, settings []string) *Server {
	tb.Helper()
	next := s.Relaunch(tb, settings)
	if !next.awaitReady(tb) {
		tb.Fatal("the server did not start again")
	}
	return next
}

// Relaunch is Again without waiting: where something else is out of order, the server may end before it is ready.
func (s *Server) Relaunch(tb testing.TB, settings []string) *Server {
	tb.Helper()
	return serveOn(tb, s.address, settings, s.args...)
}

// Ready reports whether the server is ready at the moment. One that answers no clients tells by its metrics.
func (s *Server) Ready(ctx context.Context) bool {
	if len(s.args) > 0 && !strings.Contains(s.args[len(s.args)-1], "web") {
		return coretest.Answers(ctx, "http://"+s.metrics+"/metrics/")
	}
	return coretest.Answers(ctx, s.URL()+"/readyz/")
}

// awaitReady reports whether the server was ready before it ended.
func (s *Server) awaitReady(tb testing.TB) bool {
	tb.Helper()
	Await(tb, "the server gets ready", func() bool {
		return s.HasEnded() || s.Ready(tb.Context())
	})
	return !s.HasEnded()
}
