package main_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/validations/programs/port"
)

// built is the program, which TestMain builds.
var built string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "schematron-")
		if err == nil {
			defer func() { _ = os.RemoveAll(dir) }()
			built = filepath.Join(dir, "schematron")
			err = exec.Command("go", "build", "-o", built, ".").Run()
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "build the program:", err)
			return 1
		}
		return m.Run()
	}())
}

// process sends a request to the program, as the service does, and returns its exit code and the lines that it answers.
func process(tb testing.TB, request port.Request, document string) (int, []port.Line) {
	tb.Helper()
	request.Version, request.Size = port.Version, int64(len(document))
	request.Limits = port.Limits{Findings: 1000, PerCheck: 100, Excerpt: 200}
	first, err := json.Marshal(request)
	if err != nil {
		tb.Fatal(err)
	}
	command := exec.CommandContext(tb.Context(), built)
	command.Env, command.Dir = []string{}, "/"
	command.Stdin = strings.NewReader(string(first) + "\n" + document)
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

func TestProcess(t *testing.T) {
	t.Parallel()
	config := json.RawMessage(text(t, "schemas/meters.schematron-step.json"))
	code, answer := process(t, port.Request{Task: port.TaskCheck, Config: config}, text(t, "bad/meters.xml"))
	if code != port.ExitAnswered || len(answer) != 9 || answer[8].Counts == nil || answer[8].Counts.Errors != 7 {
		t.Errorf("answer to a bad document = %d, %+v", code, answer)
	} else if first := answer[0].Finding; first.Code != "schematron.site" || first.Line != 2 ||
		!strings.HasPrefix(first.Excerpt, "<meters") {
		t.Errorf("first finding = %+v", first)
	}
	code, answer = process(t, port.Request{Task: port.TaskConfigure, Config: config}, "")
	if code != port.ExitAnswered || len(answer) < 2 || answer[0].Promise == nil {
		t.Errorf("answer to a configuration = %d, %+v", code, answer)
	}
	code, answer = process(t, port.Request{Task: port.TaskConfigure, Config: json.RawMessage(`{"shema": ""}`)}, "")
	if code != port.ExitAnswered || len(answer) != 1 || answer[0].Fault.Meant != "schema" {
		t.Errorf("answer to a slip = %d, %+v", code, answer)
	}
	config = json.RawMessage(step(t, schemaOf(`<pattern><rule context="/*"><assert test="concat(/*`+
		strings.Repeat(", /*", 16)+`) != ''"/></rule></pattern>`), ""))
	code, answer = process(t, port.Request{Task: port.TaskCheck, Config: config},
		"<a>"+strings.Repeat("a", 1<<20)+"</a>")
	if code != port.ExitExhausted || len(answer) != 0 {
		t.Errorf("answer where a resource is used up = %d, %+v", code, answer)
	}
}
