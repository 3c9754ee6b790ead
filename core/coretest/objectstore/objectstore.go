// Package objectstore starts an object store for tests: Versity's gateway, which serves S3's interface from a folder.
package objectstore

import (
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/simplevalidations/simplevalidations/core/coretest"
)

const (
	// pathVariable names the gateway where it is built already.
	pathVariable = "TEST_OBJECT_STORE"
	bucket       = "documents"
	user         = "tests"
	password     = "of-the-tests"
)

// Server is an empty object store. It is killed at the test's end.
type Server struct {
	address, folder string
	kill            func()
}

// Start builds the gateway, unless the build cache has it, and starts it.
func Start(tb testing.TB) *Server {
	tb.Helper()
	s := &Server{address: coretest.FreeAddress(tb), folder: tb.TempDir()}
	for _, folder := range []string{s.Path(""), s.meta()} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			tb.Fatal(err)
		}
	}
	s.Restart(tb)
	tb.Cleanup(func() { s.Kill() })
	return s
}

// Restart starts the store on what it had when it was killed.
func (s *Server) Restart(tb testing.TB) {
	tb.Helper()
	cmd := exec.Command(gateway(tb), "--quiet", "--access", user, "--secret", password, "--port", s.address,
		"posix", "--sidecar", s.meta(), filepath.Dir(s.Path("")))
	ended, err := coretest.StartCommand(cmd)
	if err != nil {
		tb.Fatal(err)
	}
	s.kill = func() {
		_ = cmd.Process.Kill() // It may have ended by itself.
		<-ended
	}
	coretest.Await(tb, "the object store answers", func() bool {
		select {
		case <-ended:
			tb.Fatal("the object store has ended")
		default:
		}
		connection, err := net.Dial("tcp", s.address)
		return err == nil && connection.Close() == nil
	})
}

// Kill ends the store at once.
func (s *Server) Kill() { s.kill() }

// URL is the address of the bucket as the service takes it.
func (s *Server) URL() string { return s.through(s.address) }

func (s *Server) through(address string) string {
	return "s3://" + user + ":" + password + "@" + address + "/" + bucket + "?region=us-east-1&tls=off"
}

// Behind returns the address of the bucket behind a handler, which passes on to the store what it does not answer.
func (s *Server) Behind(tb testing.TB, before func(store http.Handler) http.Handler) string {
	tb.Helper()
	store := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: s.address})
	store.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	front := httptest.NewServer(before(store))
	tb.Cleanup(front.Close)
	return s.through(front.Listener.Addr().String())
}

// Objects are the names of all chunks in the store.
func (s *Server) Objects(tb testing.TB) []string {
	tb.Helper()
	var names []string
	root := s.Path("")
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() && strings.Count(path[len(root):], "/") == 3 {
			names = append(names, path[len(root)+1:])
		}
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return names
}

// Path is the file of an object.
func (s *Server) Path(name string) string { return filepath.Join(s.folder, "buckets", bucket, name) }

// meta is the folder for what the gateway knows of objects beside their bytes.
func (s *Server) meta() string { return filepath.Join(s.folder, "meta") }

// Age makes all objects older.
func (s *Server) Age(tb testing.TB, by time.Duration) {
	tb.Helper()
	for _, name := range s.Objects(tb) {
		then := time.Now().Add(-by)
		if err := os.Chtimes(s.Path(name), then, then); err != nil {
			tb.Fatal(err)
		}
	}
}

// gateway is the path of the program.
func gateway(tb testing.TB) string {
	tb.Helper()
	if path := os.Getenv(pathVariable); path != "" {
		return path
	}
	root, err := coretest.Root()
	if err != nil {
		tb.Fatal(err)
	}
	cmd := exec.CommandContext(tb.Context(), "go", "tool", "-n", "versitygw")
	cmd.Dir = filepath.Join(root, "core", "coretest", "objectstore", "gateway")
	output, err := cmd.Output()
	if err != nil {
		tb.Fatalf("build the object store: %v", err)
	}
	return strings.TrimSpace(string(output))
}
