package engines_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/simplevalidations/simplevalidations/validations/engines"
)

const samples = "../../docs/samples"

// brief is what most tests want to know of a finding.
type brief struct {
	Code    string
	Path    string
	Line    int
	Column  int
	Row     int
	Message string
}

func sample(tb testing.TB, name string) []byte {
	tb.Helper()
	content, err := os.ReadFile(filepath.Join(samples, name))
	if err != nil {
		tb.Fatalf("read sample: %v", err)
	}
	return content
}

//nolint:ireturn // the tests work on what Compile returns
func compile(tb testing.TB, kind, config string) engines.Engine {
	tb.Helper()
	return compileWithin(tb, kind, config, engines.DefaultLimits())
}

//nolint:ireturn // the tests work on what Compile returns
func compileWithin(tb testing.TB, kind, config string, limits engines.Limits) engines.Engine {
	tb.Helper()
	engine, faults := engines.Compile(kind, json.RawMessage(config), limits)
	if len(faults) > 0 {
		tb.Fatalf("compile %s: %+v", kind, faults)
	}
	return engine
}

// refused returns the first fault of a configuration that must have one.
func refused(tb testing.TB, kind, config string) engines.ConfigError {
	tb.Helper()
	faults, err := engines.Check(tb.Context(), kind, json.RawMessage(config), engines.DefaultLimits())
	if err != nil {
		tb.Fatalf("check %s: %v", kind, err)
	}
	if len(faults) == 0 {
		tb.Fatalf("no faults, want a refusal of %.200s", config)
	}
	return faults[0]
}

func run(tb testing.TB, engine engines.Engine, content []byte, mediaType string) engines.Report {
	tb.Helper()
	report, err := engine.Run(tb.Context(), engines.NewDocument(content, mediaType, ""))
	if err != nil {
		tb.Fatalf("run: %v", err)
	}
	return report
}

func briefs(report engines.Report) []brief {
	found := []brief{}
	for _, f := range report.Findings {
		found = append(found, brief{f.Code, f.Path, f.Line, f.Column, f.Row, f.Message})
	}
	return found
}

func same(tb testing.TB, want, got any) {
	tb.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		tb.Errorf("difference (-want +got):\n%s", diff)
	}
}
