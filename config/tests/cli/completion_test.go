package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/config/cmd"
)

func TestCompletion(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"run --format ":            "text json sarif junit github csv :4",
		"check --fail-on ":         "error warning never :4",
		"runs list --state ":       "PENDING RUNNING COMPLETED :4",
		"runs list --result ":      "PASS FAIL ERROR CANCELED TIMED_OUT :4",
		"runs list --source ":      "API DASHBOARD CLI :4",
		"members set a@b.example ": "viewer executor author admin owner :4",
		"token create --role ":     "viewer executor author admin owner :4",
		"runs watch ":              ":4",
		"run ":                     ":0",
	} {
		var out bytes.Buffer
		args := append([]string{"__complete"}, strings.Split(line, " ")...)
		program := cmd.Program{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &bytes.Buffer{}}
		code := program.Run(t.Context(), args)
		if got := strings.Join(strings.Fields(out.String()), " "); code != 0 || got != want {
			t.Errorf("%q completes to %q with exit code %d, want %q", line, got, code, want)
		}
	}
}
