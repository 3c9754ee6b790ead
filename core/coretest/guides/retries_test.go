package guides

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/simplevalidations/simplevalidations/core/coretest/program"
	"github.com/simplevalidations/simplevalidations/docs"
)

// retryPrograms are the programs that the guide to retries offers, with a client and without, by name.
type retryPrograms struct {
	installation *program.Installation
	address      string
	offered      map[string]block
}

func setupRetries(tb testing.TB) retryPrograms {
	tb.Helper()
	installation := program.Install(tb)
	p := retryPrograms{
		installation: installation,
		address:      program.Serve(tb, installation.Settings).URL(),
		offered:      make(map[string]block),
	}
	for _, b := range blocksOf(tb, "docs/guides/retries.md") {
		if b.tab != "" {
			p.offered[strings.ReplaceAll(b.tab, " ", "-")+"-"+strconv.Itoa(b.line)] = b
		}
	}
	return p
}

// prepare writes a program into a folder and returns the command that runs it there.
func (p retryPrograms) prepare(tb testing.TB, dir string, b block) []string {
	tb.Helper()
	write := func(name string) { writeFiles(tb, dir, map[string][]byte{name: []byte(b.code)}) }
	switch b.language {
	case "sh":
		write("start.sh")
		return []string{"bash", "start.sh"}
	case "python":
		write("start.py")
		return []string{"python3", "start.py"}
	}
	tb.Fatalf("no command runs %s", b.language)
	return nil
}

// attempt runs one of the programs in a folder of its own, where it finds the document. It returns what was printed,
// behind it what the program has left in run.json, and how it ended.
func (p retryPrograms) attempt(tb testing.TB, name, address, key string, document []byte) (string, error) {
	tb.Helper()
	dir := workplace(tb)
	command := p.prepare(tb, dir, p.offered[name])
	cmd := exec.CommandContext(tb.Context(), command[0], command[1:]...)
	cmd.Dir = dir
	cmd.Env = append(environOf(tb, dir),
		"URL="+address, "TOKEN="+p.installation.Harbour.Tokens.Executor, "KEY="+key)
	writeFiles(tb, dir, map[string][]byte{"readings.csv": document})
	output, ended := cmd.CombinedOutput()
	left, err := os.ReadFile(filepath.Join(cmd.Dir, "run.json"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		tb.Fatal(err)
	}
	return string(append(output, left...)), ended
}

// wantRuns counts the runs of a key.
func (p retryPrograms) wantRuns(tb testing.TB, key string, want int) {
	tb.Helper()
	const query = `SELECT count(*) FROM validation_runs WHERE idempotency_key = $1`
	if runs := program.Count(tb, p.installation.DB, query, key); runs != want {
		tb.Errorf("runs = %d, want %d", runs, want)
	}
}

// TestRetries runs the programs against a service that breaks in turn in ways in which a repetition helps. Each has to
// end well, with one run.
func TestRetries(t *testing.T) {
	t.Parallel()

	programs := setupRetries(t)
	if len(programs.offered) == 0 {
		t.Error("the guide offers no programs")
	}
	document, err := docs.Sample("good/meter-readings.csv")
	if err != nil {
		t.Fatal(err)
	}
	for name := range programs.offered {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			key := "retries-" + name
			address := newBreakingService(t, programs.address).URL
			if output, err := programs.attempt(t, name, address, key, document); err != nil {
				t.Errorf("%v\n%s", err, output)
			}
			programs.wantRuns(t, key, 1)
		})
	}
}

// TestRetriesSeeRefusals runs the programs with a document that is too large. Each has to say so, whether its client
// reads while it writes or not.
func TestRetriesSeeRefusals(t *testing.T) {
	t.Parallel()

	programs := setupRetries(t)
	document := bytes.Repeat([]byte("meter,kwh\n"), 11<<20/10)
	for name := range programs.offered {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			key := "refused-" + name
			output, err := programs.attempt(t, name, programs.address, key, document)
			if err == nil || !strings.Contains(output, "payload_too_large") {
				t.Errorf("%v, output %q, want payload_too_large", err, output)
			}
			programs.wantRuns(t, key, 0)
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

func writeFiles(tb testing.TB, dir string, files map[string][]byte) {
	tb.Helper()
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			tb.Fatal(err)
		}
	}
}
