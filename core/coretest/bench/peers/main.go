// Command peers is what the benchmark compares the service with: a bare handler that checks nothing and writes one
// ANSWER, or, without one, the same service on River. It is a module of its own, so that River is no dependency of the
// service.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

const stopLimit = 10 * time.Second

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		slog.Error("peers", "error", err)
		os.Exit(1)
	}
}

// run serves at ADDRESS until ctx ends.
func run(ctx context.Context) error {
	prepare := onRiver
	if os.Getenv("ANSWER") != "" {
		prepare = bare
	}
	start, end, err := prepare(ctx)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez/", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "{}") })
	mux.HandleFunc("POST /api/workflows/{id}/start/", start)
	server := &http.Server{Addr: os.Getenv("ADDRESS"), Handler: mux, ReadHeaderTimeout: stopLimit}
	served := make(chan error, 1)
	go func() { served <- server.ListenAndServe() }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopLimit)
	defer cancel()
	return errors.Join(server.Shutdown(ctx), end(ctx))
}

// bare returns a handler that writes the answer.
func bare(context.Context) (http.HandlerFunc, func(context.Context) error, error) {
	always, err := http.ReadResponse(bufio.NewReader(strings.NewReader(os.Getenv("ANSWER"))), nil)
	if err != nil {
		return nil, nil, fmt.Errorf("read the answer: %w", err)
	}
	body, err := io.ReadAll(always.Body)
	start := func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		maps.Copy(w.Header(), always.Header)
		w.WriteHeader(always.StatusCode)
		_, _ = w.Write(body)
	}
	return start, func(context.Context) error { return nil }, err
}
