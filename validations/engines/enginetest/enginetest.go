// Package enginetest has the helpers of the tests of all engines. They go through the table of kinds, as callers do.
package enginetest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/simplevalidations/simplevalidations/validations/engines"
)

// samples is the folder of the samples, seen from the folder of an engine.
const samples = "../../../docs/samples"

// Sample reads a file of docs/samples.
func Sample(tb testing.TB, name string) []byte {
	tb.Helper()
	content, err := os.ReadFile(filepath.Join(samples, name))
	if err != nil {
		tb.Fatalf("read sample: %v", err)
	}
	return content
}

// Compile compiles a configuration that must have no faults.
//
//nolint:ireturn // the tests work on what Compile returns
func Compile(tb testing.TB, kind, config string) engines.Engine {
	tb.Helper()
	return CompileWithin(tb, kind, config, engines.DefaultLimits())
}

// CompileWithin is Compile with other limits.
//
//nolint:ireturn // the tests work on what Compile returns
func CompileWithin(tb testing.TB, kind, config string, limits engines.Limits) engines.Engine {
	tb.Helper()
	engine, faults := engines.Compile(kind, json.RawMessage(config), limits)
	if len(faults) > 0 {
		tb.Fatalf("compile %s: %+v", kind, faults)
	}
	return engine
}

// Refused returns the first fault of a configuration that must have one. Where in a text it is, its detail says.
func Refused(tb testing.TB, kind, config string) engines.ConfigError {
	tb.Helper()
	faults, err := engines.Check(tb.Context(), kind, json.RawMessage(config), engines.DefaultLimits())
	if err != nil {
		tb.Fatalf("check %s: %v", kind, err)
	}
	if len(faults) == 0 {
		tb.Fatalf("no faults, want a refusal of %.200s", config)
	}
	faults[0].Inside = engines.TextPlace{}
	return faults[0]
}

// Run checks a document that is in memory.
func Run(tb testing.TB, engine engines.Engine, content []byte, mediaType string) engines.Report {
	tb.Helper()
	report, err := engine.Run(tb.Context(), engines.NewDocument(content, mediaType, ""))
	if err != nil {
		tb.Fatalf("run: %v", err)
	}
	return report
}

// RunAtOnce runs one engine by several goroutines, on documents by the number of errors that each has.
func RunAtOnce(tb testing.TB, engine engines.Engine, mediaType string, documents map[int][]byte) {
	tb.Helper()
	const each, times = 16, 20
	var group sync.WaitGroup
	for want, content := range documents {
		for range each {
			group.Go(func() {
				for range times {
					report, err := engine.Run(tb.Context(), engines.NewDocument(content, mediaType, ""))
					if err != nil || report.Errors != want {
						tb.Errorf("errors = %d with %v, want %d", report.Errors, err, want)
					}
				}
			})
		}
	}
	group.Wait()
}

// Briefs returns what most tests want to know of the findings. A package defines the struct B for itself, so that its
// literals need no names of fields.
func Briefs[B ~struct {
	Code    string
	Path    string
	Line    int
	Column  int
	Row     int
	Message string
}](report engines.Report) []B {
	found := []B{}
	for _, f := range report.Findings {
		found = append(found, B{f.Code, f.Path, f.Line, f.Column, f.Row, f.Message})
	}
	return found
}

// Same compares what a test wants with what it got.
func Same(tb testing.TB, want, got any) {
	tb.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		tb.Errorf("difference (-want +got):\n%s", diff)
	}
}

// SchemaStep is the configuration of a json_schema step.
func SchemaStep(schema string) string {
	return `{"schema": ` + schema + `}`
}

// XMLStep is the configuration of an xml step.
func XMLStep(tb testing.TB, schema string) string {
	tb.Helper()
	step, err := json.Marshal(map[string]string{"schema": schema})
	if err != nil {
		tb.Fatalf("write step: %v", err)
	}
	return string(step)
}
