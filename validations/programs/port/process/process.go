// Package process has what the tests of programs share: the program as a process of its own, and what it takes.
package process

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/simplevalidations/simplevalidations/validations/programs/port"
)

// Built is the path of the program whose tests run. Main builds it.
var Built string

// measured names the variable that makes a test's program run Built, and answer with the most memory that it had.
const measured = "MEASURED"

// Main builds the program in the working folder, runs the tests, and returns their exit code. It belongs in TestMain.
func Main(m *testing.M) int {
	if program := os.Getenv(measured); program != "" {
		return measure(program)
	}
	dir, err := os.MkdirTemp("", "process-")
	if err == nil {
		defer func() { _ = os.RemoveAll(dir) }()
		Built = filepath.Join(dir, "program")
		err = exec.Command("go", "build", "-o", Built, ".").Run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "build the program:", err)
		return 1
	}
	return m.Run()
}

// Answer gives the program a task, as the service does, and returns its exit code and the lines that it answers.
func Answer(tb testing.TB, task, config, document string) (int, []port.Line) {
	tb.Helper()
	command := exec.CommandContext(tb.Context(), Built)
	command.Env, command.Dir = []string{}, "/"
	command.Stdin = strings.NewReader(message(tb, task, config, document))
	output, _ := command.Output() // The exit code is looked at.
	var answer []port.Line
	for text := range strings.Lines(string(output)) {
		var line port.Line
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			tb.Fatalf("answer %q: %v", text, err)
		}
		answer = append(answer, line)
	}
	return command.ProcessState.ExitCode(), answer
}

// PeakMemory is the most memory that the program had in the check of a document, in bytes, where it may use so much.
func PeakMemory(tb testing.TB, config, document string, allowed int64) int64 {
	tb.Helper()
	self, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	command := exec.CommandContext(tb.Context(), self)
	command.Env = []string{measured + "=" + Built, "GOMAXPROCS=1", fmt.Sprintf("GOMEMLIMIT=%d", allowed*8/10)}
	command.Stdin = strings.NewReader(message(tb, port.TaskCheck, config, document))
	output, err := command.Output()
	used, malformed := strconv.ParseInt(string(output), 10, 64)
	if err != nil || malformed != nil {
		tb.Fatalf("check: %v, %v\n%.500s", err, malformed, output)
	}
	return used
}

func message(tb testing.TB, task, config, document string) string {
	tb.Helper()
	first, err := json.Marshal(port.Request{
		Version: port.Version, Task: task, Config: json.RawMessage(config), Size: int64(len(document)),
		Limits: port.Limits{Findings: 1000, PerCheck: 100, Excerpt: 200},
	})
	if err != nil {
		tb.Fatal(err)
	}
	return string(first) + "\n" + document
}

// measure runs the program in a process that is small: Linux counts the memory of the one that starts a process as if
// the new one had it, and a test may have any.
func measure(program string) int {
	command := exec.Command(program)
	command.Stdin, command.Stderr = os.Stdin, os.Stderr
	if err := command.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "check:", err)
		return 1
	}
	usage, ok := command.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return 1
	}
	fmt.Print(usage.Maxrss << 10)
	return 0
}
