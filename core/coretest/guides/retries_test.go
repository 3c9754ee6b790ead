package guides

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/simplevalidations/simplevalidations/core/coretest/program"
	"github.com/simplevalidations/simplevalidations/docs"
)

// TestRetries runs the programs that the guide to retries offers, each against a service that breaks in turn in ways
// in which a repetition helps. Each has to end well, with one run.
func TestRetries(t *testing.T) {
	t.Parallel()

	installation := program.Install(t)
	server := program.Serve(t, installation.Settings)
	offered := make(map[string]block)
	for _, b := range blocksOf(t, "docs/guides/retries.md") {
		offered[b.heading] = b
	}
	for name, command := range map[string][]string{
		"Shell": {"bash", "start.go"}, "Python": {"python3", "start.go"}, "Go": {"go", "run", "start.go"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			key := "retries-" + name
			cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
			cmd.Dir = t.TempDir()
			cmd.Env = append(os.Environ(), "URL="+newBreakingService(t, server.URL()).URL,
				"TOKEN="+installation.Harbour.Tokens.Executor, "KEY="+key)
			writeFiles(t, cmd.Dir, offered[name].code)
			if output, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, output)
			}
			const query = `SELECT count(*) FROM validation_runs WHERE idempotency_key = $1`
			if runs := program.Count(t, installation.DB, query, key); runs != 1 {
				t.Errorf("runs = %d, want 1", runs)
			}
		})
	}
}

// newBreakingService stands between a client and the service. It answers nothing at first although the service has done
// its work, then refuses in two ways that pass, and then lets everything through.
func newBreakingService(tb testing.TB, address string) *httptest.Server {
	tb.Helper()
	target, err := url.Parse(address)
	if err != nil {
		tb.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}
	var requests atomic.Int32
	breaking := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch requests.Add(1) {
		case 1:
			proxy.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler) // The server then cuts the connection.
		case 2:
			refuse(w, http.StatusConflict, `{"code":"idempotency_key_in_progress","retryable":true}`)
		case 3:
			refuse(w, http.StatusServiceUnavailable, `{"code":"unavailable","retryable":true}`)
		default:
			proxy.ServeHTTP(w, r)
		}
	}))
	tb.Cleanup(breaking.Close)
	return breaking
}

func refuse(w http.ResponseWriter, status int, problem string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("Retry-After", "1")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, problem) // The client sees it when it gets less.
}

// writeFiles writes the program and the document that it sends.
func writeFiles(tb testing.TB, dir, code string) {
	tb.Helper()
	document, err := docs.Sample("good/meter-readings.csv")
	if err != nil {
		tb.Fatal(err)
	}
	for name, content := range map[string][]byte{"start.go": []byte(code), "readings.csv": document} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			tb.Fatal(err)
		}
	}
}
