//go:build slow

package operations

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/coretest/program"
)

// nginx is one with the product's own configuration before some servers.
type nginx struct {
	*program.Process

	address, dir string
	servers      []*program.Server
}

// newNginx starts nginx and waits until it answers.
func newNginx(tb testing.TB, servers []*program.Server) *nginx {
	tb.Helper()
	return newNginxWith(tb, (&nginx{servers: servers}).upstream(tb, nil), servers)
}

// newNginxWith is newNginx with another file that says where the servers are.
func newNginxWith(tb testing.TB, upstream string, servers []*program.Server) *nginx {
	tb.Helper()
	n := &nginx{address: coretest.FreeAddress(tb), dir: tb.TempDir(), servers: servers}
	n.place(tb, "simplevalidations.conf", program.Deployed(tb, "nginx/simplevalidations.conf",
		"listen 80;", "listen "+n.address+";"))
	n.place(tb, "upstream.conf", upstream)
	n.place(tb, "nginx.conf", n.main())
	n.Process = program.LaunchCommand(tb,
		exec.Command(program.Find(tb, "nginx"), "-p", n.dir, "-c", filepath.Join(n.dir, "nginx.conf"), "-e", "stderr"))
	// Its workers would outlive a master that is killed.
	tb.Cleanup(func() {
		if n.Send(syscall.SIGTERM) == nil {
			n.ExitCode(tb)
		}
	})
	n.awaitAnswer(tb)
	return n
}

func (n *nginx) url() string { return "http://" + n.address }

// main is what a machine has around the files that are deployed.
func (n *nginx) main() string {
	var text strings.Builder
	if os.Geteuid() == 0 {
		text.WriteString("user root;\n") // The folder is closed to others.
	}
	fmt.Fprintf(&text, "daemon off;\nworker_processes 2;\npid %s/pid;\nevents { worker_connections 2048; }\n", n.dir)
	text.WriteString("http {\n    access_log off;\n")
	for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		fmt.Fprintf(&text, "    %s_temp_path %s/%s;\n", kind, n.dir, kind)
	}
	fmt.Fprintf(&text, "    include %s/upstream.conf;\n    include %[1]s/simplevalidations.conf;\n}\n", n.dir)
	return text.String()
}

// upstream lists the servers, and the one that is taken out as down.
func (n *nginx) upstream(tb testing.TB, out *program.Server) string {
	tb.Helper()
	var list strings.Builder
	for _, s := range n.servers {
		list.WriteString("    server " + strings.TrimPrefix(s.URL(), "http://") + " max_fails=1 fail_timeout=2s")
		if s == out {
			list.WriteString(" down")
		}
		list.WriteString(";\n")
	}
	return program.Deployed(tb, "nginx/upstream.conf",
		"    server 10.0.0.11:8000 max_fails=1 fail_timeout=2s;\n", list.String(),
		"    server 10.0.0.12:8000 max_fails=1 fail_timeout=2s;\n", "",
		"keepalive_timeout 5s;", "keepalive_timeout 1s;")
}

func (n *nginx) place(tb testing.TB, name, text string) {
	tb.Helper()
	if err := os.WriteFile(filepath.Join(n.dir, name), []byte(text), 0o600); err != nil {
		tb.Fatalf("write %s: %v", name, err)
	}
}

// takeOut has nginx send nothing more to a server, or to all again where it is nil, and waits until the workers with
// the former configuration have answered what they had.
func (n *nginx) takeOut(tb testing.TB, s *program.Server) {
	tb.Helper()
	before := program.ChildrenOf(tb, n.PID())
	n.place(tb, "upstream.conf", n.upstream(tb, s))
	if output, err := exec.Command(program.Find(tb, "nginx"), "-p", n.dir, "-c", filepath.Join(n.dir, "nginx.conf"),
		"-e", "stderr", "-s", "reload").CombinedOutput(); err != nil {
		tb.Fatalf("reload nginx: %v: %s", err, output)
	}
	program.Await(tb, "nginx has its new configuration", func() bool {
		now := program.ChildrenOf(tb, n.PID())
		return len(now) > 0 && !slices.ContainsFunc(before, func(id int) bool { return slices.Contains(now, id) })
	})
}

func (n *nginx) awaitAnswer(tb testing.TB) {
	tb.Helper()
	program.Await(tb, "nginx answers", func() bool {
		if n.HasEnded() {
			tb.Fatal("nginx ended before it answered")
		}
		response, err := http.Get(n.url() + "/readyz/")
		return err == nil && response.Body.Close() == nil && response.StatusCode == http.StatusOK
	})
}
