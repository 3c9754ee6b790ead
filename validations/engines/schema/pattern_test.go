package schema_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/simplevalidations/simplevalidations/validations/engines"
)

func TestSchemaPatternsAreECMA(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ schema, good, bad, code, message string }{
		{
			`{"pattern": "^(?!admin$)[a-z]+$"}`, `"user"`, `"admin"`, "schema.pattern",
			`"admin" does not match ^(?!admin$)[a-z]+$`,
		},
		{
			`{"patternProperties": {"^(?!x-)": {"type": "null"}}}`, `{"x-a": 1, "a": null}`, `{"a": 1}`,
			"schema.type", "want null, got number",
		},
		{
			`{"format": "regex"}`, `"(?<=a)b\\1(c)"`, `"a**"`, "schema.format",
			`"a**" is not a valid regex: invalid nested repetition operator`,
		},
		{`{"pattern": "^\\cJ$"}`, `"\n"`, `"cJ"`, "schema.pattern", `"cJ" does not match ^\cJ$`},
	} {
		engine := compile(t, engines.KindJSONSchema, schemaStep(tt.schema))
		same(t, []brief{}, briefs(run(t, engine, []byte(tt.good), "application/json")))
		report := run(t, engine, []byte(tt.bad), "application/json")
		if len(report.Findings) != 1 {
			t.Fatalf("findings of %s = %+v, want one", tt.schema, report.Findings)
		}
		same(t, []string{tt.code, tt.message}, []string{report.Findings[0].Code, report.Findings[0].Message})
	}
}

func TestFaultsOfPatternsSayWhy(t *testing.T) {
	t.Parallel()
	for _, keyword := range []string{`{"properties": {"a": {"pattern": "["}}}`, `{"patternProperties": {"[": {}}}`} {
		for _, draft := range []string{"2020-12", "7", "4"} {
			fault := refused(t, engines.KindJSONSchema, `{"draft": "`+draft+`", "schema": `+keyword+`}`)
			if !strings.Contains(fault.Detail, "unterminated [] set") {
				t.Errorf("draft %s says %q of %s, want the reason", draft, fault.Detail, keyword)
			}
			if !strings.Contains(fault.Pointer, "attern") {
				t.Errorf("draft %s points at %q, want the pattern", draft, fault.Pointer)
			}
		}
	}
}

func TestSchemaPatternsThatNeverEnd(t *testing.T) {
	t.Parallel()
	limits := engines.DefaultLimits()
	limits.MaxPatternTime = time.Millisecond
	engine := compileWithin(t, engines.KindJSONSchema, schemaStep(`{"not": {"pattern": "(?=(a|aa)+$)"}}`), limits)
	document := engines.NewDocument([]byte(`"`+strings.Repeat("a", 60)+`!"`), "application/json", "f")
	report, err := engine.Run(t.Context(), document)
	if _, ok := errors.AsType[*engines.ExhaustedError](err); !ok {
		t.Errorf("run ends with %v and %+v, want an error and no verdict", err, report)
	}
	// The next run has a verdict again.
	if report := run(t, engine, []byte(`"aaa"`), "application/json"); report.Errors != 1 {
		t.Errorf("errors = %d, want one", report.Errors)
	}
}

func TestSearchesOfPatternsEndWithTheContext(t *testing.T) {
	t.Parallel()
	engine := compile(t, engines.KindJSONSchema, schemaStep(`{"items": {"pattern": "(?=a)"}}`))
	ctx, cancel := context.WithCancel(t.Context())
	content := &cancelling{strings.NewReader(`["b"]`), cancel}
	_, err := engine.Run(ctx, engines.Document{Content: content, Size: content.Size(), MediaType: "application/json"})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("run ends with %v, want the end of the context", err)
	}
}

// cancelling is a document whose run is given up as soon as it was read.
type cancelling struct {
	*strings.Reader
	cancel context.CancelFunc
}

func (c *cancelling) ReadAt(b []byte, offset int64) (int, error) {
	c.cancel()
	return c.Reader.ReadAt(b, offset)
}
