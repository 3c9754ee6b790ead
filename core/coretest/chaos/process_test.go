package chaos

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const (
	// patience is for things that take a moment, also on a busy machine and with the race detector.
	patience     = time.Minute
	pollInterval = 10 * time.Millisecond
	// shownOutput is how much of a process's output a failed test shows.
	shownOutput = 8 << 10
)

// process is a running or ended program. It is killed at the test's end.
type process struct {
	cmd            *exec.Cmd
	stdout, stderr transcript
	ended          chan struct{}
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

// launch starts the program under test with these settings and no others.
func launch(tb testing.TB, settings []string, stdin string, args ...string) *process {
	tb.Helper()
	cmd := exec.Command(os.Getenv(programVariable), args...)
	cmd.Env = append(surroundings(), settings...)
	cmd.Stdin = strings.NewReader(stdin)
	return launchCommand(tb, cmd)
}

// surroundings are the environment without what sets the program.
func surroundings() []string {
	var kept []string
	for _, variable := range os.Environ() {
		name, _, _ := strings.Cut(variable, "=")
		if strings.HasPrefix(name, "SV_") || name == "DATABASE_URL" || name == "REDIS_URL" {
			continue
		}
		kept = append(kept, variable)
	}
	return kept
}

func launchCommand(tb testing.TB, cmd *exec.Cmd) *process {
	tb.Helper()
	p := &process{cmd: cmd, ended: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = &p.stdout, &p.stderr
	// What outlives a killed program must not hold the tests up by the pipes it has inherited.
	cmd.WaitDelay = time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	dieWithParent(cmd.SysProcAttr)
	started := make(chan error, 1)
	go func() {
		defer close(p.ended)
		// The child dies with the thread that started it.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // How it ended is in its state.
		}
	}()
	if err := <-started; err != nil {
		tb.Fatalf("start %s: %v", cmd.Path, err)
	}
	tb.Cleanup(func() {
		p.kill()
		p.report(tb)
	})
	return p
}

// report fails the test for what no process may ever say, and shows the output when the test has failed.
func (p *process) report(tb testing.TB) {
	tb.Helper()
	output := p.stderr.String()
	for _, never := range []string{"DATA RACE", "panic:", "fatal error:"} {
		if strings.Contains(output, never) {
			tb.Errorf("%s said %q", strings.Join(p.cmd.Args[1:], " "), never)
		}
	}
	if tb.Failed() {
		tb.Logf("%s ended with %d after\n%s%s", strings.Join(p.cmd.Args[1:], " "), p.cmd.ProcessState.ExitCode(),
			tail(p.stdout.String()), tail(output))
	}
}

func tail(text string) string {
	return text[max(0, len(text)-shownOutput):]
}

// kill ends the process at once, as kill -9 does, and waits for its end.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // It may have ended by itself.
	<-p.ended
}

func (p *process) signal(tb testing.TB, sig syscall.Signal) {
	tb.Helper()
	if err := p.cmd.Process.Signal(sig); err != nil {
		tb.Fatalf("send %s: %v", sig, err)
	}
}

// exitCode waits for the end of the process by itself.
func (p *process) exitCode(tb testing.TB) int {
	tb.Helper()
	select {
	case <-p.ended:
	case <-time.After(patience):
		tb.Fatalf("%s did not end within %s", strings.Join(p.cmd.Args[1:], " "), patience)
	}
	return p.cmd.ProcessState.ExitCode()
}

func (p *process) hasEnded() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// runs reports whether a process with the id exists, whoever started it.
func runs(pid int) bool {
	return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
}

// execute runs a command of the program to its end, which has to be a success, and returns its standard output.
func execute(tb testing.TB, settings []string, stdin string, args ...string) string {
	tb.Helper()
	p := launch(tb, settings, stdin, args...)
	if got := p.exitCode(tb); got != 0 {
		tb.Fatalf("exit code of %s = %d, want 0", strings.Join(args, " "), got)
	}
	return p.stdout.String()
}

// refuse runs a command that has to be refused as wrongly used, and returns what it says about that.
func refuse(tb testing.TB, settings []string, args ...string) string {
	tb.Helper()
	p := launch(tb, settings, "", args...)
	if got := p.exitCode(tb); got != 2 {
		tb.Errorf("exit code of %s = %d, want 2", strings.Join(args, " "), got)
	}
	return p.stderr.String()
}

// await waits until the condition holds.
func await(tb testing.TB, what string, condition func() bool) {
	tb.Helper()
	deadline := time.After(patience)
	poll := time.NewTicker(pollInterval)
	defer poll.Stop()
	for !condition() {
		select {
		case <-deadline:
			tb.Fatalf("waited %s in vain: %s", patience, what)
		case <-poll.C:
		}
	}
}
