package guides

import (
	"bufio"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/coretest/clients"
	"github.com/simplevalidations/simplevalidations/core/coretest/program"
)

// TestWebhookGuide runs the receivers of the guide to webhooks: each is told of the end of a run.
func TestWebhookGuide(t *testing.T) {
	t.Parallel()
	const page = "docs/guides/webhooks.md"
	installation := program.Install(t, "SV_EXTERNAL_ALLOW=127.0.0.0/8,::1/128")
	server := program.Serve(t, installation.Settings)
	at := func(b block) (string, string) {
		address := coretest.FreeAddress(t)
		_, port, _ := strings.Cut(address, ":")
		return address, strings.NewReplacer("localhost", "127.0.0.1", "3000", port).Replace(b.code)
	}
	script := ofLanguage(blocksOf(t, page), "ts")[0]
	address, code := at(script)
	compiled := clients.CompileTypeScript(t, map[string]string{programName(script): code})
	receive(t, installation, server, address, exec.CommandContext(t.Context(), "node", programPath(compiled, script)))

	address, code = at(ofLanguage(blocksOf(t, page), "python")[0])
	python := exec.CommandContext(t.Context(), "python3", "-c", code)
	python.Env = append(os.Environ(), "PYTHONPATH="+pythonSources(t), "PYTHONDONTWRITEBYTECODE=1")
	receive(t, installation, server, address, python)

	address, code = at(ofLanguage(blocksOf(t, page), "go")[0])
	dir := t.TempDir()
	writeFiles(t, dir, map[string][]byte{"main.go": []byte(code)})
	build := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(dir, "receiver"),
		filepath.Join(dir, "main.go"))
	build.Dir = repository
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	receive(t, installation, server, address, exec.CommandContext(t.Context(), filepath.Join(dir, "receiver")))
}

// receive makes a webhook of the address, starts its receiver and a run, and wants the receiver to say the result.
func receive(
	t *testing.T, installation *program.Installation, server *program.Server, address string, cmd *exec.Cmd,
) {
	t.Helper()
	owner := program.NewClient(t, installation.Harbour.Tokens.Owner)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL()+"/api/webhooks/",
		strings.NewReader(`{"url":"http://`+address+`/","event_types":["run.completed"]}`))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	answer, err := owner.Do(request)
	if err != nil || !answer.Created() {
		t.Fatalf("webhook: %v, %d %s", err, answer.Status, answer.Body)
	}
	var made api.WebhookSecret
	if err := json.Unmarshal(answer.Body, &made); err != nil {
		t.Fatal(err)
	}
	if cmd.Env == nil {
		cmd.Env = os.Environ()
	}
	cmd.Env = append(cmd.Env, "SECRET="+made.Secret)
	cmd.Stderr = t.Output()
	said, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	ended, err := coretest.StartCommand(cmd)
	if err != nil {
		t.Fatal(err)
	}
	program.Await(t, "the receiver listens", func() bool {
		conn, err := net.DialTimeout("tcp", address, time.Second)
		if err != nil {
			return false
		}
		_ = conn.Close() // Nothing was sent.
		return true
	})
	program.NewClient(t, installation.Harbour.Tokens.Executor).
		Start(t, server.URL(), program.Building(t, address))
	line, err := bufio.NewReader(said).ReadString('\n')
	if err != nil || !strings.Contains(line, " run.completed ") {
		t.Errorf("%s said %q, %v, want the end of the run", cmd.Args[0], line, err)
	}
	_ = cmd.Process.Kill() // It has no other end.
	<-ended
}
