package program

import (
	"slices"
	"strconv"
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
		tb.Fatal("the server ended before it was ready")
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
	metrics := string(NewClient(tb, "").Get(tb, "http://"+s.metrics+"/metrics/").Body)
	_, rest, _ := strings.Cut(metrics, "\nsv_start_queue ")
	value, _, _ := strings.Cut(rest, "\n")
	n, err := strconv.Atoi(value)
	if err != nil {
		tb.Fatalf("read how many starts wait: %v", err)
	}
	return n
}

// URL is the address that the server answers at, without a slash at its end.
func (s *Server) URL() string { return "http://" + s.address }

// Again starts the server anew on its old address with its old arguments, after its end.
func (s *Server) Again(tb testing.TB, settings []string) *Server {
	tb.Helper()
	next := serveOn(tb, s.address, settings, s.args...)
	if !next.awaitReady(tb) {
		tb.Fatal("the server did not start again")
	}
	return next
}

// awaitReady reports whether the server was ready before it ended.
func (s *Server) awaitReady(tb testing.TB) bool {
	tb.Helper()
	Await(tb, "the server gets ready", func() bool {
		return s.HasEnded() || coretest.Answers(tb.Context(), s.URL()+"/readyz/")
	})
	return !s.HasEnded()
}
