package rules

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
	"github.com/simplevalidations/simplevalidations/validations/engines/tree"
)

// FuzzRules runs whatever compiles on whatever document in each format: nothing may panic, a document is never an
// error, and whatever a finding points at is there.
func FuzzRules(f *testing.F) {
	f.Add(`"path": "/a/*/b", "operator": "lt", "value": 1`, `{"a": [{"b": 1}, {"b": "x"}, {}]}`)
	f.Add(`"path": "/*", "operator": "any", "value": {"path": "/x", "operator": "in", "value": [1, "a"]}`,
		`{"b": [{}]}`)
	f.Add(`"path": "/r/@a", "operator": "matches", "value": "^x"`, `<r a="1" b='2'>t<s/><s> u </s></r>`)
	f.Add(`"path": "/r", "operator": "unique", "value": "/~0"`, "r:\n- ~: 1\n- '~': 1.0\n- 2026-01-01\n")
	f.Add(`"when": "has(doc.a)", "assert": "sum(doc.a) > 1.0 || doc.b[0] == value", "message": "{doc.a}"`,
		`{"a": [1, 2]}`)
	f.Add(`"path": "/a/#text", "operator": "within", "value": ["2026-01-01", "2026-01-02"]`, `<a b="">2026-01-01</a>`)
	limits := engine.DefaultLimits()
	limits.MaxDocumentRuleCost = 10_000
	f.Fuzz(func(t *testing.T, rule, document string) {
		e, faults := Compile(Config{[]json.RawMessage{[]byte(`{"id": "r", ` + rule + `}`)}}, limits)
		if len(faults) > 0 {
			return
		}
		for _, mediaType := range []string{"application/json", "application/yaml", "application/xml"} {
			doc := engine.NewDocument([]byte(document), mediaType, "")
			report, err := e.Run(t.Context(), doc)
			if err != nil {
				t.Fatalf("run: %v", err)
			}
			read, unreadable, err := tree.ReadAny(doc, limits)
			if err != nil {
				t.Fatalf("read: %v", err)
			}
			for _, finding := range report.Findings {
				if finding.Message == "" || !utf8.ValidString(finding.Message) {
					t.Errorf("finding = %+v, want words of our own", finding)
				}
				if unreadable == nil && finding.Line == 0 {
					t.Errorf("finding = %+v, want a line", finding)
				}
				if unreadable != nil || finding.Message == "missing" {
					continue
				}
				if path, err := parsePath(strings.ReplaceAll(finding.Path, "*", "~2"), limits); err == nil {
					if _, known := path.find(read.Value); !known {
						t.Errorf("finding = %+v, want a path that leads somewhere", finding)
					}
				}
			}
		}
	})
}
