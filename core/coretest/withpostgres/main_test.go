package main

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

func TestRun(t *testing.T) {
	t.Parallel()

	t.Run("PassesAddressAndExitCode", func(t *testing.T) {
		t.Parallel()
		var stdout, stderr bytes.Buffer
		command := []string{"--", "/bin/sh", "-c", `echo "$TEST_DATABASE_URL"; exit 7`}
		if got := run(t.Context(), command, &stdout, &stderr); got != 7 {
			t.Errorf("exit code = %d, want 7; stderr %s", got, &stderr)
		}
		if got := stdout.String(); !strings.HasPrefix(got, "postgres://") {
			t.Errorf("address = %q, want one of postgres://", got)
		}
	})

	t.Run("TellsWhatKilledTheCommand", func(t *testing.T) {
		t.Parallel()
		command := []string{"/bin/sh", "-c", "kill -KILL $$"}
		if got, want := run(t.Context(), command, io.Discard, t.Output()), exitSignal+9; got != want {
			t.Errorf("exit code = %d, want %d", got, want)
		}
	})

	t.Run("RefusesNothingToRun", func(t *testing.T) {
		t.Parallel()
		if got := run(t.Context(), []string{"--"}, io.Discard, t.Output()); got != exitUsage {
			t.Errorf("exit code = %d, want %d", got, exitUsage)
		}
	})

	t.Run("ReportsMissingCommand", func(t *testing.T) {
		t.Parallel()
		command := []string{"/nonexistent/command"}
		if got := run(t.Context(), command, io.Discard, t.Output()); got != exitFailed {
			t.Errorf("exit code = %d, want %d", got, exitFailed)
		}
	})
}

func TestSupervise(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c",
		`trap "exit 9" HUP; echo ready; while :; do sleep 0.05; done`)
	output, stdout := io.Pipe()
	cmd.Stdout = stdout
	signals := make(chan os.Signal, 1)
	code := make(chan int, 1)
	go func() {
		got, err := supervise(cmd, signals)
		if err != nil {
			t.Errorf("supervise: %v", err)
		}
		code <- got
	}()
	if _, err := bufio.NewReader(output).ReadString('\n'); err != nil {
		t.Fatalf("wait for command: %v", err)
	}
	signals <- syscall.SIGHUP
	if got := <-code; got != 9 {
		t.Errorf("exit code = %d, want 9", got)
	}
}
