package program

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/simplevalidations/simplevalidations/core/coretest"
)

// shownOutput is how much of a process's output a failed test shows.
const shownOutput = 8 << 10

// Process is a running or ended program. It is killed at the test's end.
type Process struct {
	cmd            *exec.Cmd
	stdout, stderr transcript
	ended          <-chan struct{}
}

// transcript collects output that is read while more of it is written.
type transcript struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write adds to the transcript.
func (o *transcript) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

// String returns what has been written so far.
func (o *transcript) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// Launch starts the program under test with these settings and no others.
func Launch(tb testing.TB, settings []string, stdin string, args ...string) *Process {
	tb.Helper()
	cmd := exec.Command(programOf(settings), args...)
	cmd.Env = append(surroundings(), settings...)
	cmd.Stdin = strings.NewReader(stdin)
	return LaunchCommand(tb, cmd)
}

// programOf is the program under test, or another one that the last of such settings names.
func programOf(settings []string) string {
	chosen := os.Getenv(pathVariable)
	for _, setting := range settings {
		if path, ok := strings.CutPrefix(setting, pathVariable+"="); ok {
			chosen = path
		}
	}
	return chosen
}

// surroundings are the environment without what sets the program.
func surroundings() []string {
	var kept []string
	for _, variable := range os.Environ() {
		name, _, _ := strings.Cut(variable, "=")
		if strings.HasPrefix(name, "SV_") ||
			slices.Contains([]string{"DATABASE_URL", "DATABASE_DIRECT_URL", "REDIS_URL"}, name) {
			continue
		}
		kept = append(kept, variable)
	}
	return kept
}

// LaunchCommand starts a program that the one under test works with.
func LaunchCommand(tb testing.TB, cmd *exec.Cmd) *Process {
	tb.Helper()
	p := &Process{cmd: cmd}
	cmd.Stdout, cmd.Stderr = &p.stdout, &p.stderr
	// What outlives a killed program must not hold the tests up by the pipes it has inherited.
	cmd.WaitDelay = time.Second
	var err error
	if p.ended, err = coretest.StartCommand(cmd); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		p.Kill()
		p.report(tb)
	})
	return p
}

// Stdout returns what the process has written to its standard output so far.
func (p *Process) Stdout() string { return p.stdout.String() }

// Stderr returns what the process has written to its standard error so far, which is where its log goes.
func (p *Process) Stderr() string { return p.stderr.String() }

// PID is the id by which the kernel knows the process.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Kill ends the process at once, as kill -9 does, and waits for its end.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill() // It may have ended by itself.
	<-p.ended
}

// Send sends a signal, from whatever goroutine.
func (p *Process) Send(sig syscall.Signal) error { return p.cmd.Process.Signal(sig) }

// Signal sends a signal, which has to reach the process.
func (p *Process) Signal(tb testing.TB, sig syscall.Signal) {
	tb.Helper()
	if err := p.Send(sig); err != nil {
		tb.Fatalf("send %s: %v", sig, err)
	}
}

// Freeze stops the process and returns when nothing of it runs any more, from whatever goroutine. A signal alone only
// asks for that: on a busy machine some threads go on for a while.
func (p *Process) Freeze() error {
	if err := p.Send(syscall.SIGSTOP); err != nil {
		return fmt.Errorf("freeze: %w", err)
	}
	return awaitStop(p.cmd.Process.Pid)
}

// AwaitEnd waits for the end of the process, whatever ends it.
func (p *Process) AwaitEnd(tb testing.TB) {
	tb.Helper()
	Receive(tb, strings.Join(p.cmd.Args[1:], " ")+" ends", p.ended)
}

// HasEnded reports whether the process has ended.
func (p *Process) HasEnded() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// Succeeded reports whether the process has ended by itself and as it should.
func (p *Process) Succeeded() bool { return p.HasEnded() && p.cmd.ProcessState.Success() }

// ExitCode waits for the end of the process by itself.
func (p *Process) ExitCode(tb testing.TB) int {
	tb.Helper()
	p.AwaitEnd(tb)
	return p.cmd.ProcessState.ExitCode()
}

// report fails the test for what no process may ever say, and shows the output when the test has failed.
func (p *Process) report(tb testing.TB) {
	tb.Helper()
	output := p.Stderr()
	for _, never := range []string{"DATA RACE", "panic:", "fatal error:"} {
		if strings.Contains(output, never) {
			tb.Errorf("%s said %q", strings.Join(p.cmd.Args[1:], " "), never)
		}
	}
	if tb.Failed() {
		tb.Logf("%s ended with %d after\n%s%s", strings.Join(p.cmd.Args[1:], " "), p.cmd.ProcessState.ExitCode(),
			tail(p.Stdout()), tail(output))
	}
}

func tail(text string) string {
	return text[max(0, len(text)-shownOutput):]
}

// Exists reports whether a process with the id exists, whoever started it.
func Exists(pid int) bool {
	return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
}

// PostgresID returns the id of the main process of a data folder's PostgreSQL, and 0 where none is noted.
func PostgresID(tb testing.TB, data string) int {
	tb.Helper()
	text, err := os.ReadFile(filepath.Join(data, "postmaster.pid"))
	if errors.Is(err, os.ErrNotExist) {
		return 0
	}
	if err != nil {
		tb.Fatalf("find the main process of PostgreSQL: %v", err)
	}
	first, _, _ := strings.Cut(string(text), "\n")
	id, err := strconv.Atoi(first)
	if err != nil {
		tb.Fatalf("find the main process of PostgreSQL: %v", err)
	}
	return id
}

// SignalPostgres sends a signal to all processes of a data folder's PostgreSQL, if it runs. The main process is stopped
// first, so that it starts no others meanwhile.
func SignalPostgres(tb testing.TB, data string, sig syscall.Signal) {
	tb.Helper()
	id := PostgresID(tb, data)
	if id == 0 {
		return
	}
	send := func(process int, sig syscall.Signal) {
		if err := syscall.Kill(process, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
			tb.Fatalf("send %s to process %d: %v", sig, process, err)
		}
	}
	send(id, syscall.SIGSTOP)
	for _, process := range append(ChildrenOf(tb, id), id) {
		send(process, sig)
	}
}

// ChildrenOf lists the processes that a process has started.
func ChildrenOf(tb testing.TB, parent int) []int {
	tb.Helper()
	all, err := coretest.Processes()
	if err != nil {
		tb.Fatal(err)
	}
	var children []int
	for id, process := range all {
		if process.Parent == parent && !process.Dead {
			children = append(children, id)
		}
	}
	return children
}
