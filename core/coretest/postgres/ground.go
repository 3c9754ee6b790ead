package postgres

import (
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/simplevalidations/simplevalidations/core/coretest"
)

//go:embed testdata/ground.c
var library []byte

// binVariable names the folder of binaries that tests start servers from.
const binVariable = "PG_BIN_DIR"

// Folders of a server's data, of which a disk may fail one alone.
const (
	Log       = "/pg_wal/"
	Temporary = "/pgsql_tmp/"
	All       = "/data/"
)

// Process stands for some process of a server, where it is not the id of one.
const (
	First = -1
	Any   = 0
)

// Fault is a system call that fails.
type Fault struct {
	Call   string
	Reason syscall.Errno
	Folder string
}

// Ground is what servers stand on: a disk that can fail and a clock that can be moved.
type Ground struct {
	clock

	order string
	moved *os.File
	ahead time.Duration
}

// NewGround is for all servers that the test starts from now on.
func NewGround(tb testing.TB) *Ground {
	tb.Helper()
	dir := coretest.OpenFolder(tb)
	g := &Ground{order: filepath.Join(dir, "order")}
	source, built := filepath.Join(dir, "ground.c"), filepath.Join(dir, "ground.so")
	if err := os.WriteFile(source, library, 0o600); err != nil {
		tb.Fatal(err)
	}
	output, err := exec.CommandContext(tb.Context(), "gcc", "-shared", "-fPIC", "-O1", "-o", built, source, "-ldl").
		CombinedOutput()
	if err != nil {
		tb.Fatalf("build the ground of servers, which takes gcc: %v\n%s", err, output)
	}
	clock := filepath.Join(dir, "clock")
	if g.moved, err = os.Create(clock); err != nil {
		tb.Fatal(err)
	}
	if err := g.moved.Truncate(8); err != nil { // It is an integer.
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = g.moved.Close() }) // It is only kept by the servers.
	open(tb, built)
	open(tb, clock)
	bin := filepath.Join(dir, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		tb.Fatal(err)
	}
	open(tb, bin)
	for name, environment := range map[string]string{
		"initdb": "", "pg_basebackup": "",
		"postgres": "LD_PRELOAD='" + built + "' FAILING_DISK='" + g.order + "' MOVED_CLOCK='" + clock + "' ",
	} {
		wrap(tb, filepath.Join(bin, name), environment, filepath.Join(installed(tb), name))
	}
	tb.Setenv(binVariable, bin)
	return g
}

// wrap writes a program that starts another one.
func wrap(tb testing.TB, path, environment, program string) {
	tb.Helper()
	script := "#!/bin/sh\n" + environment + "exec '" + program + "' \"$@\"\n"
	if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
		tb.Fatal(err)
	}
	open(tb, path)
}

// open lets the user of PostgreSQL read and execute a file, whatever the umask of the tests is.
func open(tb testing.TB, path string) {
	tb.Helper()
	if err := os.Chmod(path, 0o755); err != nil {
		tb.Fatal(err)
	}
}

// installed asks the server of all other tests where it comes from.
func installed(tb testing.TB) string {
	tb.Helper()
	if dir := os.Getenv(binVariable); dir != "" {
		return dir
	}
	db := coretest.Connect(tb, os.Getenv(coretest.DatabaseVariable))
	return coretest.One[string](tb, db, "SELECT setting FROM pg_config() WHERE name = 'BINDIR'")
}

// Break has a call fail once, in a process or in the First that makes it. In Any it fails until Mend, as on a full
// disk, for what makes files longer.
func (g *Ground) Break(process int, fault Fault) error {
	text := fmt.Sprintf("%d %s %d %s", process, fault.Call, int(fault.Reason), fault.Folder)
	// The order is there as a whole or not at all.
	draft := g.order + ".draft"
	if err := errors.Join(os.WriteFile(draft, []byte(text), 0o644), os.Chmod(draft, 0o644)); err != nil {
		return fmt.Errorf("order the disk to fail: %w", err)
	}
	if err := os.Rename(draft, g.order); err != nil {
		return fmt.Errorf("order the disk to fail: %w", err)
	}
	return nil
}

// Broke reports whether the call that was to fail once has failed.
func (g *Ground) Broke() bool {
	_, err := os.Stat(g.order)
	return errors.Is(err, os.ErrNotExist)
}

// Mend makes the disk a sound one.
func (g *Ground) Mend(tb testing.TB) {
	tb.Helper()
	if err := os.Remove(g.order); err != nil && !errors.Is(err, os.ErrNotExist) {
		tb.Fatalf("mend the disk: %v", err)
	}
}

// Advance moves the clock on, or back.
func (g *Ground) Advance(tb testing.TB, by time.Duration) {
	tb.Helper()
	g.ahead += by
	g.note(step{at: time.Now(), ahead: g.ahead, back: max(0, -by)})
	now := binary.NativeEndian.AppendUint64(nil, uint64(g.ahead.Microseconds()))
	if _, err := g.moved.WriteAt(now, 0); err != nil {
		tb.Fatalf("move the clock: %v", err)
	}
}

// Now is the time of the servers.
func (g *Ground) Now() time.Time { return time.Now().Add(g.ahead) }
