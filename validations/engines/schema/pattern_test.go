package schema_test

import (
	"context"
	"errors"
	"strings"
	"testing"

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
			`"a**" is not a valid regex: at character 3: there is nothing to repeat`,
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
			if !strings.Contains(fault.Detail, "at character 1: this [ is never closed") {
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
	engine := compile(t, engines.KindJSONSchema, schemaStep(`{"items": {"pattern": "^(?=(a+)+$)b"}}`))
	text := `"` + strings.Repeat("a", 40) + `!"`
	report := run(t, engine, []byte("["+text+"]"), "application/json")
	same(t, []brief{
		{"schema.not_evaluated", "", 0, 0, 0, "not evaluated: a pattern costs too much on a text of this length"},
	}, briefs(report))

	// Each text may cost little, and all of them too much.
	limits := engines.DefaultLimits()
	limits.MaxSchemaWork = 100_000
	engine = compileWithin(t, engines.KindJSONSchema, schemaStep(`{"items": {"pattern": "^(?=(a+)+$)b"}}`), limits)
	short := `"` + strings.Repeat("a", 12) + `!",`
	report = run(t, engine, []byte("["+strings.Repeat(short, 1000)+"1]"), "application/json")
	same(t, []brief{
		{
			"schema.not_evaluated", "", 0, 0, 0,
			"not evaluated: checking this document against this schema takes too much work",
		},
	}, briefs(report))
}

func TestSearchesOfPatternsEndWithTheContext(t *testing.T) {
	t.Parallel()
	limits := engines.DefaultLimits()
	limits.MaxPatternSteps, limits.MaxSchemaWork = 1<<50, 1<<50
	engine := compileWithin(t, engines.KindJSONSchema, schemaStep(`{"pattern": "^(?=(a+)+$)b"}`), limits)
	ctx, cancel := context.WithCancel(t.Context())
	content := &cancelling{strings.NewReader(`"` + strings.Repeat("a", 60) + `!"`), cancel}
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
