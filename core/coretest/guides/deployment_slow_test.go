//go:build slow && linux

package guides

import (
	"bytes"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/coretest/program"
)

// nobody is the id of the user who follows the page where the tests run as root.
const nobody = 65534

// TestDeployment follows the page on deployment command by command, as a user without rights, with a release that is
// built for it and a PostgreSQL, a Redis, a PgBouncer and an nginx of its own. Each command has to succeed and to print
// what the page shows.
func TestDeployment(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	admin := o.startPostgres(t, "admin-password", "")
	o.placeRelease(t, "0.1.0-guide")
	ports := freePorts(t, 4)
	here := strings.NewReplacer(
		"0.1.0", "0.1.0-guide", "linux_amd64", runtime.GOOS+"_"+runtime.GOARCH,
		"db.internal:5432", admin, "PGHOST=db.internal PGPORT=5432", "PGHOST=127.0.0.1 PGPORT="+portOf(t, admin),
		"host=db.internal port=5432", "host=127.0.0.1 port="+portOf(t, admin),
		"redis://cache.internal:6379/0", coretest.Redis(t),
		"6432", ports[0], "8001", ports[1], "8002", ports[2], "8080", ports[3],
	)
	sh, known := o.shell(t), newTranscript()
	sh.execute(t, "exec 2> complaints")
	commands := 0
	for _, b := range ofLanguage(blocksOf(t, "docs/guides/deployment.md"), "console") {
		b.code = here.Replace(b.code)
		for _, c := range readSession(t, b) {
			commands++
			printed := sh.execute(t, known.actual(c.typed))
			status := strings.TrimSpace(sh.execute(t, "echo $?"))
			if err := known.compare(c.printed, printed); err != nil || status != "0" {
				t.Fatalf("%s: status %s of $ %s%v", b, status, c.typed, err)
			}
		}
	}
	if complaints := sh.execute(t, "grep ^nginx: complaints"); complaints != "" {
		t.Errorf("nginx complains: %s", complaints)
	}
	if commands < 40 {
		t.Errorf("commands = %d, want those of the whole page", commands)
	}
	for _, daemon := range []string{"nginx/pid", "pgbouncer/pid"} {
		program.Await(t, "the daemon of "+daemon+" ends", func() bool {
			_, err := os.Stat(filepath.Join(o.home, daemon))
			return os.IsNotExist(err)
		})
	}
}

// operator is a user without rights, who has a home.
type operator struct {
	home string
	// path leads to the programs of PostgreSQL as well.
	path string
	bin  string
}

func newOperator(tb testing.TB) *operator {
	tb.Helper()
	bin := os.Getenv("PG_BIN_DIR")
	if found, err := filepath.Glob("/usr/lib/postgresql/*/bin"); bin == "" && err == nil && len(found) > 0 {
		bin = found[len(found)-1]
	}
	dir, err := os.MkdirTemp("", "simplevalidations-operator-") //nolint:usetesting // its parent is closed to others
	if err != nil {
		tb.Fatal(err)
	}
	o := &operator{home: dir, bin: bin, path: "/usr/local/bin:/usr/bin:/bin:" + bin}
	tb.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			tb.Error(err)
		}
	})
	o.own(tb, dir)
	return o
}

// own gives a file or a folder to the user.
func (o *operator) own(tb testing.TB, name string) {
	tb.Helper()
	if os.Geteuid() == 0 {
		if err := os.Chown(name, nobody, nobody); err != nil {
			tb.Fatal(err)
		}
	}
}

// command is one that the user runs at home, with nothing of the environment of the tests.
func (o *operator) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = o.home
	cmd.Env = []string{"HOME=" + o.home, "PATH=" + o.path, "LANG=C.UTF-8"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if os.Geteuid() == 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
	}
	return cmd
}

// startPostgres starts a server that asks for passwords, with more settings in its file perhaps, and returns its
// address.
func (o *operator) startPostgres(tb testing.TB, password, settings string) string {
	tb.Helper()
	secret := filepath.Join(o.home, ".postgres-password")
	if err := os.WriteFile(secret, []byte(password), 0o600); err != nil {
		tb.Fatal(err)
	}
	o.own(tb, secret)
	data := filepath.Join(o.home, ".postgres")
	initialize := o.command(filepath.Join(o.bin, "initdb"), "--auth=scram-sha-256", "--username=postgres",
		"--pwfile="+secret, "--no-sync", "--pgdata="+data)
	if output, err := initialize.CombinedOutput(); err != nil {
		tb.Fatalf("initdb: %v\n%s", err, output)
	}
	appendTo(tb, filepath.Join(data, "postgresql.conf"), settings)
	address := coretest.FreeAddress(tb)
	var log bytes.Buffer
	server := o.command(filepath.Join(o.bin, "postgres"), "-D", data, "-c", "listen_addresses=127.0.0.1",
		"-c", "port="+portOf(tb, address), "-c", "unix_socket_directories=", "-c", "fsync=off")
	server.Stderr = &log
	o.start(tb, server, syscall.SIGQUIT)
	program.Await(tb, "PostgreSQL answers", func() bool {
		conn, err := net.Dial("tcp", address)
		return err == nil && conn.Close() == nil
	})
	return address
}

func appendTo(tb testing.TB, path, text string) {
	tb.Helper()
	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		tb.Fatal(err)
	}
	_, err = file.WriteString(text)
	if err := errors.Join(err, file.Close()); err != nil {
		tb.Fatal(err)
	}
}

// start starts a command, which gets a signal at the test's end.
func (o *operator) start(tb testing.TB, cmd *exec.Cmd, end syscall.Signal) {
	tb.Helper()
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = cmd.Process.Signal(end) // It may have ended by itself.
		_ = cmd.Wait()              // A signal is not a success.
	})
}

// placeRelease builds a release and puts its files where a browser puts what is downloaded.
func (o *operator) placeRelease(tb testing.TB, version string) {
	tb.Helper()
	out := filepath.Join(tb.TempDir(), "release")
	root, err := coretest.Root()
	if err != nil {
		tb.Fatal(err)
	}
	key := filepath.Join(tb.TempDir(), "release")
	build := exec.CommandContext(tb.Context(), "go", "run", "-C", "config/release", ".", "-version", version, "-time",
		"1700000000", "-platforms", runtime.GOOS+"/"+runtime.GOARCH, "-out", out, "-key", key)
	build.Dir = root
	if output, err := exec.CommandContext(tb.Context(), "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key).
		CombinedOutput(); err != nil {
		tb.Fatalf("make a key: %v\n%s", err, output)
	}
	if output, err := build.CombinedOutput(); err != nil {
		tb.Fatalf("build a release: %v\n%s", err, output)
	}
	archive := "simplevalidations_" + version + "_" + runtime.GOOS + "_" + runtime.GOARCH + ".tar.gz"
	for _, name := range []string{
		filepath.Join(out, archive), filepath.Join(out, "SHA256SUMS"), filepath.Join(out, "SHA256SUMS.sig"),
		key + ".pub",
	} {
		content, err := os.ReadFile(name)
		if err != nil {
			tb.Fatal(err)
		}
		placed := filepath.Join(o.home, filepath.Base(name))
		if err := os.WriteFile(placed, content, 0o600); err != nil {
			tb.Fatal(err)
		}
		o.own(tb, placed)
	}
}

// shell is one of the user's. What it has started ends with it.
func (o *operator) shell(tb testing.TB) *shell {
	tb.Helper()
	cmd := o.command("bash", "--noprofile", "--norc", "-s")
	return startShell(tb, cmd, func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // What a failed page has left running.
		for _, daemon := range []string{"nginx/pid", "pgbouncer/pid"} {
			if text, err := os.ReadFile(filepath.Join(o.home, daemon)); err == nil {
				id, _ := strconv.Atoi(strings.TrimSpace(string(text)))
				_ = syscall.Kill(id, syscall.SIGTERM) // It may have ended.
			}
		}
		_ = cmd.Wait() // It was killed.
		if tb.Failed() {
			o.showLogs(tb)
		}
	})
}

func (o *operator) showLogs(tb testing.TB) {
	tb.Helper()
	logs, _ := filepath.Glob(filepath.Join(o.home, "*.log"))
	logs = append(logs, filepath.Join(o.home, "complaints"))
	more, _ := filepath.Glob(filepath.Join(o.home, "*", "*log"))
	for _, name := range slices.Concat(logs, more) {
		if text, err := os.ReadFile(name); err == nil {
			tb.Logf("%s:\n%s", filepath.Base(name), text[max(0, len(text)-2000):])
		}
	}
}

// freePorts returns ports in the order of their text, as files are listed that have them in their names.
func freePorts(tb testing.TB, n int) []string {
	tb.Helper()
	var ports []string
	for len(ports) < n {
		if port := portOf(tb, coretest.FreeAddress(tb)); !slices.Contains(ports, port) {
			ports = append(ports, port)
		}
	}
	slices.Sort(ports)
	return ports
}

func portOf(tb testing.TB, address string) string {
	tb.Helper()
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		tb.Fatal(err)
	}
	return port
}
