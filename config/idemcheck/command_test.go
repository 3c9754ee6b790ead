package idemcheck_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/simplevalidations/simplevalidations/config/idemcheck"
	"github.com/simplevalidations/simplevalidations/core/cli"
)

// orders is an API that keeps answers by key. It does not look at what the key was used for unless it is careful.
type orders struct {
	careful bool

	mu      sync.Mutex
	placed  []map[string]any
	answers map[string][2]string
}

func (o *orders) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	o.mu.Lock()
	defer o.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if r.Method == http.MethodGet {
		found := []map[string]any{}
		for _, order := range o.placed {
			if order["reference"] == r.FormValue("reference") {
				found = append(found, order)
			}
		}
		_ = json.NewEncoder(w).Encode(found) //nolint:errchkjson // the client sees what is missing
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	key := strings.Trim(r.Header.Get("Idempotency-Key"), `"`)
	if stored, again := o.answers[key]; again {
		if o.careful && stored[0] != string(body) {
			w.WriteHeader(http.StatusUnprocessableEntity)
			return
		}
		_, _ = io.WriteString(w, stored[1]) // As above.
		return
	}
	var order map[string]any
	if json.Unmarshal(body, &order) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	o.placed = append(o.placed, order)
	answer := fmt.Sprintf(`{"id":%d}`, len(o.placed))
	o.answers[key] = [2]string{string(body), answer}
	_, _ = io.WriteString(w, answer) // As above.
}

func serve(t *testing.T, careful bool) string {
	t.Helper()
	server := httptest.NewServer(&orders{careful: careful, answers: make(map[string][2]string)})
	t.Cleanup(server.Close)
	return server.URL
}

const description = `
request: {url: "/orders?by=${TOKEN}", headers: {X-Token: "$5 ${TOKEN}"}, body: '{"reference": "{{ref}}", "amount": 12}'}
effects: {url: "/orders?reference={{ref}}"}
different: [{body: '{"reference": "{{ref}}", "amount": 13}'}]
limits: {settle: 200ms}
`

// execute runs the command and returns its exit code and what it printed.
func execute(t *testing.T, args ...string) (int, string, string) {
	t.Helper()
	command := idemcheck.Command(cli.Env{Getenv: func(name string) string {
		return map[string]string{"TOKEN": "secret", "LONG_TOKEN": "a long secret"}[name]
	}})
	var out, complaint bytes.Buffer
	command.SetOut(&out)
	command.SetErr(&complaint)
	command.SetIn(strings.NewReader("y\n"))
	command.SetArgs(args)
	command.SilenceErrors, command.SilenceUsage = true, true
	err := command.ExecuteContext(t.Context())
	exit, _ := errors.AsType[*cli.ExitError](err)
	code := 0
	switch {
	case exit != nil:
		code = exit.Code
	case err != nil:
		code = cli.ExitFailed
	}
	if err != nil {
		complaint.WriteString(err.Error())
	}
	return code, out.String(), complaint.String()
}

func write(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "order.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestReports(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	args := []string{
		serve(t, false), "--request", write(t, description), "--only", "mismatch/*", "--only", "replay/effect",
	}
	for _, format := range []string{"json", "junit", "sarif", "markdown", "badge"} {
		args = append(args, "--output", format+"="+filepath.Join(dir, format))
	}
	code, text, stderr := execute(t, args...)
	if code != cli.ExitFailed || !strings.Contains(stderr, "8 cases with about ") {
		t.Errorf("exit code = %d, want 1: %s", code, stderr)
	}
	for _, want := range []string{
		"✓  replay/effect", "✗  mismatch/body", "–  mismatch/path", "another request got the answer of the first one",
		"What it means: A client takes the answer", `/orders?by='"${TOKEN}"'' -H 'X-Token: $5 '"${TOKEN}"''`,
		"# 200 {\"id\":",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("report = %s, want %q in it", text, want)
		}
	}
	read := func(format string) []byte {
		content, err := os.ReadFile(filepath.Join(dir, format))
		if err != nil || bytes.Contains(content, []byte("secret")) {
			t.Errorf("%s report = %s (%v), want no secret in it", format, content, err)
		}
		return content
	}
	var suites struct {
		Suites []struct {
			Failures int `xml:"failures,attr"`
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal(read("junit"), &suites); err != nil || suites.Suites[0].Failures != 2 {
		t.Errorf("JUnit report = %+v (%v), want 2 failures", suites, err)
	}
	for format, want := range map[string]string{
		"json": `"outcome": "failed"`, "sarif": `"mismatch/body"`, "markdown": "| ✗ | mismatch/body | must |",
		"badge": `"message":"strict, 2 of 4 broken"`,
	} {
		if content := read(format); !bytes.Contains(content, []byte(want)) {
			t.Errorf("%s report = %s, want %s in it", format, content, want)
		}
	}
}

func TestExitCodes(t *testing.T) {
	t.Parallel()
	file, good := write(t, description), serve(t, true)
	for name, tt := range map[string]struct {
		args []string
		code int
		says string
	}{
		"Passed":         {[]string{good, "-r", file, "--only", "mismatch/body"}, 0, ""},
		"NobodyAnswers":  {[]string{"http://127.0.0.1:1", "-r", file, "--only", "replay"}, cli.ExitUnable, "refused"},
		"NoFile":         {[]string{good, "-r", file + "x"}, cli.ExitUsage, "idemcheck init"},
		"NoDescription":  {[]string{good}, cli.ExitUsage, "--request FILE"},
		"AnotherMachine": {[]string{"https://api.example.com", "-r", file}, cli.ExitUsage, "--yes"},
		"Cases":          {[]string{"--list"}, 0, "mismatch/body"},
		"Schema":         {[]string{"init", "--schema"}, 0, `"$schema"`},
		"NoCase":         {[]string{good, "-r", file, "--only", "all"}, cli.ExitUsage, "no case all"},
		"NoProfile":      {[]string{good, "-r", file, "--profile", "x"}, cli.ExitUsage, "ietf, stripe or strict"},
		"NoFormat":       {[]string{good, "-r", file, "--format", "x"}, cli.ExitUsage, "markdown or badge"},
		"NoOutput":       {[]string{good, "-r", file, "--output", "x"}, cli.ExitUsage, "FORMAT=FILE"},
		"NoVariable": {
			[]string{good, "-r", write(t, strings.ReplaceAll(description, "TOKEN", "NONE"))}, cli.ExitUsage, "${NONE}",
		},
		"UnknownMember": {[]string{good, "-r", write(t, description+"effect: 1\n")}, cli.ExitUsage, "effect"},
		"NoReference": {
			[]string{good, "-r", write(t, strings.ReplaceAll(description, "{{ref}}", "a"))}, cli.ExitUsage, "{{ref}}",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := execute(t, tt.args...)
			if code != tt.code || !strings.Contains(stdout+stderr, tt.says) {
				t.Errorf("exit code = %d, %q, want %d and %q", code, stderr, tt.code, tt.says)
			}
		})
	}
}

// TestBasePath has an API below a path, which repeats what it should not.
func TestBasePath(t *testing.T) {
	t.Parallel()
	api := &orders{answers: make(map[string][2]string)}
	mux := http.NewServeMux()
	mux.HandleFunc("/v1/", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", r.Header.Get("X-Token"))
		api.ServeHTTP(w, r)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	file := write(t, strings.ReplaceAll(description, "$5 ${TOKEN}", "${LONG_TOKEN}")+"also: "+server.URL+"/v1\n")
	code, report, stderr := execute(t, server.URL+"/v1/", "-r", file, "--only", "replay", "--only", "lost/answer")
	if code != cli.ExitFailed || strings.Count(report, "✗") != 2 || !strings.Contains(report, "✓  replay/process") ||
		!strings.Contains(report, "✗  replay/marked") || !strings.Contains(report, "✓  lost/answer") {
		t.Errorf("exit code = %d, want only replay/marked to fail: %s%s", code, report, stderr)
	}
	if strings.Contains(report, "a long secret") || !strings.Contains(report, `Location "${LONG_TOKEN}"`) {
		t.Errorf("report = %s, want the name of the secret in place of it", report)
	}
}

// TestDraftsAreReady sends what a draft from curl says, without a change.
func TestDraftsAreReady(t *testing.T) {
	t.Parallel()
	base := serve(t, true)
	code, draft, stderr := execute(t, "init", "--", "curl", "-s", "-X", "POST", base+"/orders",
		"-H", "Authorization: Bearer secret", "-H", "Idempotency-Key: 1", "--json", `{"reference": "a", "amount": 12}`)
	if code != 0 || strings.Contains(draft, "secret") {
		t.Fatalf("exit code = %d, draft without the secret wanted: %s%s", code, draft, stderr)
	}
	draft = strings.ReplaceAll(draft, "${AUTHORIZATION}", "none") +
		"effects: {url: \"/orders?reference={{ref}}\"}\n"
	code, report, stderr := execute(t, base, "-r", write(t, draft), "--only", "replay/effect", "--only",
		"mismatch/body")
	if code != 0 || strings.Count(report, "✓") != 2 {
		t.Errorf("exit code = %d, want two cases passed: %s%s", code, report, stderr)
	}
}

// TestDraftsOfOpenAPI has the product's own document.
func TestDraftsOfOpenAPI(t *testing.T) {
	t.Parallel()
	const document = "../../docs/openapi.yaml"
	code, draft, stderr := execute(t, "init", "--openapi", document, "--operation", "createWorkflow")
	for _, want := range []string{
		"url: /api/workflows/", "{{ref}}", "header: Idempotency-Key", "answer: /id", "different:",
	} {
		if code != 0 || !strings.Contains(draft, want) {
			t.Errorf("exit code = %d, draft = %s%s, want %q in it", code, draft, stderr, want)
		}
	}
	code, _, stderr = execute(t, "https://api.example.com", "--openapi", document, "--operation", "createWorkflow",
		"--only", "replay/effect")
	if code != cli.ExitUsage || !strings.Contains(stderr, "1 case with about 5 requests") {
		t.Errorf("exit code = %d, %s, want a plan of the drafted request", code, stderr)
	}
	code, _, stderr = execute(t, "init", "--openapi", document, "--operation", "none")
	if code != cli.ExitUsage || !strings.Contains(stderr, "createWorkflow") {
		t.Errorf("exit code = %d, %s, want the operations that there are", code, stderr)
	}
}
