package main

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
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

	t.Run("ShowsTheProgressOfTests", func(t *testing.T) {
		t.Parallel()
		folder := t.TempDir()
		for name, text := range map[string]string{
			"go.mod": "module example\n\ngo 1.24\n",
			"a_test.go": "package example\n\nimport (\"os\"; \"testing\")\n\n" +
				"func TestShared(t *testing.T) {\n\tinfo, err := os.Stat(os.Getenv(\"TEST_PROGRAMS_DIR\"))\n" +
				"\tif err != nil || !info.IsDir() {\n\t\tt.Fatal(err)\n\t}\n\tt.Fatal(\"as it should\")\n}\n",
		} {
			if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		var stdout bytes.Buffer
		command := []string{"-suite", "--", "go", "test", "-C", folder}
		if got := run(t.Context(), command, &stdout, t.Output()); got != 1 {
			t.Errorf("exit code = %d, want that of a failed test", got)
		}
		for _, want := range []string{
			"as it should", "FAIL\texample", "[1 of 1 packages, ", "The slowest of 1 packages",
		} {
			if !strings.Contains(stdout.String(), want) {
				t.Errorf("output = %s, want %q in it", &stdout, want)
			}
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
