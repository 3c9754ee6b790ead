package rules_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/validations/engines"
)

// oneRule is a step with one rule, whose id is r.
func oneRule(members string) string {
	return `{"rules": [{"id": "r", ` + members + `}]}`
}

// verdicts runs one rule on one document and returns the messages of its findings with their paths.
func verdicts(t *testing.T, members, document, mediaType string) []string {
	t.Helper()
	report := run(t, compile(t, engines.KindRules, oneRule(members)), []byte(document), mediaType)
	found := []string{}
	for _, f := range report.Findings {
		if f.Code != "rule.r" || f.AssertionID != "r" || f.Line == 0 {
			t.Errorf("finding = %+v, want one of rule r with a line", f)
		}
		found = append(found, strings.TrimSpace(f.Path+" "+f.Message))
	}
	return found
}

func TestRuleOperators(t *testing.T) {
	t.Parallel()
	const number, word = `{"v": 5}`, `{"v": "night"}`
	tests := []struct{ rule, document, want string }{
		{`"operator": "eq", "value": 5`, `{"v": 5.0}`, ""},
		{`"operator": "eq", "value": {"a": [1, null]}`, `{"v": {"a": [1e0, null]}}`, ""},
		{
			`"operator": "eq", "value": 9007199254740993`, `{"v": 9007199254740992}`,
			"9007199254740992 is not 9007199254740993",
		},
		{`"operator": "eq", "value": "5"`, number, `5 is not "5"`},
		{`"operator": "eq", "value": null`, number, "5 is not null"},
		{`"operator": "ne", "value": 6`, number, ""},
		{`"operator": "ne", "value": 5`, `{"v": 50e-1}`, "50e-1 is not allowed"},
		{`"operator": "ne", "value": true`, word, ""},
		{`"operator": "in", "value": ["day", "night"]`, word, ""},
		{`"operator": "in", "value": ["day", 1]`, word, `"night" is not one of "day", 1`},
		{`"operator": "not_in", "value": ["day"]`, word, ""},
		{`"operator": "not_in", "value": ["night"]`, word, `"night" is not allowed`},

		{`"operator": "lt", "value": 5.01`, number, ""},
		{`"operator": "lt", "value": 5`, number, "5 is not less than 5"},
		{`"operator": "lt", "value": 5`, word, `not evaluated: wants a number, found the string "night"`},
		{`"operator": "le", "value": 5`, number, ""},
		{`"operator": "le", "value": -5`, number, "5 is more than -5"},
		{`"operator": "le", "value": 1`, `{"v": null}`, "not evaluated: wants a number, found null"},
		{`"operator": "gt", "value": -0.5`, `{"v": -0.25}`, ""},
		{`"operator": "gt", "value": 1e300`, `{"v": 1e299}`, "1e299 is not more than 1e300"},
		{`"operator": "gt", "value": 1`, `{"v": true}`, "not evaluated: wants a number, found true"},
		{`"operator": "ge", "value": 0`, `{"v": -0.0}`, ""},
		{`"operator": "ge", "value": 6`, number, "5 is less than 6"},
		{`"operator": "ge", "value": 6`, `{"v": [6]}`, "not evaluated: wants a number, found a list of 1 element"},
		{`"operator": "between", "value": [5, 7.5]`, number, ""},
		{`"operator": "between", "value": [6, 7.5]`, number, "5 is not from 6 to 7.5"},
		{`"operator": "between", "value": [6, 7]`, `{"v": {}}`, "not evaluated: wants a number, found an object"},
		{`"operator": "approx_eq", "value": 5.1, "tolerance": 0.2`, number, ""},
		{`"operator": "approx_eq", "value": 4, "tolerance": 0.5`, number, "5 is more than 0.5 away from 4"},
		{
			`"operator": "approx_eq", "value": 4, "tolerance": 0.5`, word,
			`not evaluated: wants a number, found the string "night"`,
		},

		{`"operator": "contains", "value": "igh"`, word, ""},
		{`"operator": "contains", "value": "day"`, word, `"night" does not contain "day"`},
		{`"operator": "contains", "value": 1`, word, `not evaluated: wants a list, found the string "night"`},
		{`"operator": "contains", "value": 1`, `{"v": [2, 1.0]}`, ""},
		{`"operator": "contains", "value": {}`, `{"v": [2]}`, "a list of 1 element does not contain an object"},
		{`"operator": "contains", "value": 5`, number, "not evaluated: wants a string or a list, found the number 5"},
		{`"operator": "starts_with", "value": "ni"`, word, ""},
		{`"operator": "starts_with", "value": "da"`, word, `"night" does not start with "da"`},
		{`"operator": "starts_with", "value": "5"`, number, "not evaluated: wants a string, found the number 5"},
		{`"operator": "ends_with", "value": "ght"`, word, ""},
		{`"operator": "ends_with", "value": "y"`, word, `"night" does not end with "y"`},
		{`"operator": "ends_with", "value": "5"`, number, "not evaluated: wants a string, found the number 5"},
		{`"operator": "matches", "value": "^n.*t$"`, word, ""},
		{`"operator": "matches", "value": "^d"`, word, `"night" does not match ^d`},
		{`"operator": "matches", "value": "^d"`, number, "not evaluated: wants a string, found the number 5"},

		{`"operator": "is_null"`, `{"v": null}`, ""},
		{`"operator": "is_null"`, number, "5 is not null"},
		{`"operator": "not_null"`, number, ""},
		{`"operator": "not_null"`, `{"v": null}`, "is null"},
		{`"operator": "is_empty"`, `{"v": []}`, ""},
		{`"operator": "is_empty"`, `{"v": null}`, ""},
		{`"operator": "is_empty"`, word, `"night" is not empty`},
		{
			`"operator": "is_empty"`, number,
			"not evaluated: wants a string, a list or an object, found the number 5",
		},
		{`"operator": "not_empty"`, `{"v": {"a": 1}}`, ""},
		{`"operator": "not_empty"`, `{"v": ""}`, "is empty"},
		{
			`"operator": "not_empty"`, `{"v": false}`,
			"not evaluated: wants a string, a list or an object, found false",
		},
		{`"operator": "type_is", "value": "integer"`, `{"v": 5.0}`, ""},
		{`"operator": "type_is", "value": ["null", "object"]`, `{"v": {}}`, ""},
		{`"operator": "type_is", "value": "integer"`, `{"v": 0.5}`, "the number 0.5 is not of type integer"},
		{
			`"operator": "type_is", "value": ["array", "boolean"]`, word,
			`the string "night" is not of type array or boolean`,
		},
		{`"operator": "len_eq", "value": 2`, `{"v": "äö"}`, ""},
		{`"operator": "len_eq", "value": 2`, `{"v": [1]}`, "has 1 element, not 2"},
		{`"operator": "len_le", "value": 1`, `{"v": {"a": 1}}`, ""},
		{`"operator": "len_le", "value": 4`, word, "has 5 characters, more than 4"},
		{`"operator": "len_ge", "value": 1`, `{"v": {}}`, "has 0 members, fewer than 1"},
		{
			`"operator": "len_ge", "value": 1`, `{"v": null}`,
			"not evaluated: wants a string, a list or an object, found null",
		},
		{`"operator": "unique"`, `{"v": [1, "1", [1], {}]}`, ""},
		{`"operator": "unique"`, `{"v": [1, 2, 1.0, 2]}`, "/2 element 2 equals element 0; the list has 2 duplicates"},
		{`"operator": "unique", "value": "/id"`, `{"v": [{"id": 1}, {"id": 1}]}`, "/1/id element 1 equals element 0"},
		{`"operator": "unique", "value": "/id"`, `{"v": [{"id": 1}, {}]}`, "not evaluated: element 1 has no /id"},
		{`"operator": "unique"`, word, `not evaluated: wants a list, found the string "night"`},

		{`"operator": "before", "value": "2026-03-01"`, `{"v": "2026-02-28T23:59:59.9Z"}`, ""},
		{`"operator": "before", "value": "2026-03-01"`, `{"v": "2026-03-01"}`, "2026-03-01 is not before 2026-03-01"},
		{
			`"operator": "before", "value": "2026-03-01"`, word,
			`not evaluated: wants a date or a date-time, found the string "night"`,
		},
		{`"operator": "after", "value": "2026-03-01T00:00:00+01:00"`, `{"v": "2026-03-01"}`, ""},
		{`"operator": "after", "value": "2026-03-01"`, `{"v": "2026-02-28"}`, "2026-02-28 is not after 2026-03-01"},
		{
			`"operator": "after", "value": "2026-03-01"`, `{"v": "2026-02-30"}`,
			`not evaluated: wants a date or a date-time, found the string "2026-02-30"`,
		},
		{`"operator": "within", "value": ["2026-01-01", "2026-12-31"]`, `{"v": "2026-12-31T23:59:59Z"}`, ""},
		{
			`"operator": "within", "value": ["2026-01-01", "2026-12-31T12:00:00Z"]`, `{"v": "2026-12-31T12:00:01Z"}`,
			"2026-12-31T12:00:01Z is outside the period",
		},
		{
			`"operator": "within", "value": ["2026-01-01", "2026-12-31"]`, number,
			"not evaluated: wants a date or a date-time, found the number 5",
		},

		{`"operator": "any", "value": {"operator": "eq", "value": 2}`, `{"v": [1, 2, "x"]}`, ""},
		{`"operator": "any", "value": {"operator": "gt", "value": 2}`, `{"v": [1, 2]}`, "none of 2 elements fits"},
		{
			`"operator": "any", "value": {"operator": "gt", "value": 2}`, `{"v": [1, "x"]}`,
			`not evaluated: element 1: wants a number, found the string "x"`,
		},
		{`"operator": "any", "value": {"operator": "is_null"}`, `{"v": []}`, "none of 0 elements fits"},
		{`"operator": "all", "value": {"operator": "gt", "value": 0}`, `{"v": [1, 2]}`, ""},
		{`"operator": "all", "value": {"operator": "gt", "value": 0}`, `{"v": []}`, ""},
		{
			`"operator": "all", "value": {"path": "/a", "operator": "gt", "value": 0}`,
			`{"v": [{"a": 1}, {"a": -1}, {"a": -2}]}`,
			"/1/a element 1: -1 is not more than 0, 2 of 3 elements in all",
		},
		{
			`"operator": "all", "value": {"path": "/a", "operator": "gt", "value": 0}`, `{"v": [{"a": 1}, {}]}`,
			"not evaluated: element 1: has no /a",
		},
		{`"operator": "none", "value": {"operator": "eq", "value": 0}`, `{"v": [1]}`, ""},
		{`"operator": "none", "value": {"operator": "eq", "value": 1}`, `{"v": [1]}`, "/0 element 0 is not allowed"},
		{
			`"operator": "none", "value": {"operator": "lt", "value": 1}`, `{"v": [1, null]}`,
			"not evaluated: element 1: wants a number, found null",
		},
		{
			`"operator": "all", "value": {"operator": "any", "value": {"operator": "eq", "value": 1}}`,
			`{"v": [[1], [2]]}`, "/1 element 1: none of 1 element fits",
		},
		{
			`"operator": "none", "value": {"operator": "is_null"}`, number,
			"not evaluated: wants a list, found the number 5",
		},
	}
	for _, tt := range tests {
		t.Run(tt.rule+" "+tt.document, func(t *testing.T) {
			t.Parallel()
			want := []string{}
			if path, below := strings.CutPrefix(tt.want, "/"); below {
				want = append(want, "/v/"+path)
			} else if tt.want != "" {
				want = append(want, "/v "+tt.want)
			}
			same(t, want, verdicts(t, `"path": "/v", `+tt.rule, tt.document, "application/json"))
		})
	}

	t.Run("EachFailsWhereItsPathIsMissing", func(t *testing.T) {
		t.Parallel()
		operators := map[string]string{}
		for _, tt := range tests {
			name, value, _ := strings.Cut(strings.TrimPrefix(tt.rule, `"operator": "`), `"`)
			operators[name] = `"operator": "` + name + `"` + value
		}
		same(t, 29, len(operators))
		for name, rule := range operators {
			want := []string{"/w missing"}
			if got := verdicts(t, `"path": "/w", `+rule, `{"v": 1}`, ""); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s without its path = %v, want %v", name, got, want)
			}
			if got := verdicts(t, `"path": "/w", "missing": "skip", `+rule, `{"v": 1}`, ""); len(got) > 0 {
				t.Errorf("%s that skips without its path = %v, want nothing", name, got)
			}
		}
	})
}

func TestRulePaths(t *testing.T) {
	t.Parallel()
	const document = `{"a": [{"b": 1}, {"b": 2}, {}],
		"c/d": {"~": 3}, "*": 4, "o": {"y": 5, "x": 6}, "s": "t", "e": []}`
	tests := []struct {
		path string
		want []string
	}{
		{"/a/*/b", []string{"/a/0/b 1 is not null", "/a/1/b 2 is not null", "/a/2/b missing"}},
		{"/a/1/b", []string{"/a/1/b 2 is not null"}},
		{"/a/01/b", []string{"/a/01 missing"}},
		{"/a/-", []string{"/a/- missing"}},
		{"/a/3/b", []string{"/a/3 missing"}},
		{"/c~1d/~0", []string{"/c~1d/~0 3 is not null"}},
		{"/~2", []string{"/* 4 is not null"}},
		{"/o/*", []string{"/o/y 5 is not null", "/o/x 6 is not null"}},
		{"/s/*", []string{`/s not evaluated: the string "t" has no elements`}},
		{"/s/x", []string{"/s/x missing"}},
		{"/e/*/x", []string{}},
		{"/x/*/y", []string{"/x missing"}},
		{"", []string{"an object is not null"}},
	}
	for _, tt := range tests {
		t.Run(tt.path, func(t *testing.T) {
			t.Parallel()
			same(t, tt.want, verdicts(t, `"path": "`+tt.path+`", "operator": "is_null"`, document, ""))
		})
	}
}

func TestRuleExpressions(t *testing.T) {
	t.Parallel()
	const document = `{"zones": [{"id": "a", "area": 20, "kind": "x"}, {"id": "b", "area": 20.5}],
		"floor": 40, "n": null}`
	const misfit = "not evaluated: it does not fit the types of the values, or a value is missing"
	tests := []struct {
		name, rule string
		want       []string
	}{
		{"NumbersAreDoubles", `"assert": "doc.zones[0].area + doc.zones[1].area == 40.5"`, []string{}},
		{"WholeNumbersCompare", `"assert": "doc.floor == 40 && doc.zones[0].area > 19"`, []string{}},
		{
			"Message", `"assert": "sum(value.zones.map(z, z.area)) <= value.floor",
				"message": "{sum(value.zones.map(z, z.area))} {{m2}} over {doc.floor} {value.gone}"`,
			[]string{"40.5 {m2} over 40 ?"},
		},
		{
			"EachPlace", `"path": "/zones/*/area", "assert": "value < 20.2", "message": "{value} is too large"`,
			[]string{"/zones/1/area 20.5 is too large"},
		},
		{"Guard", `"path": "/zones/*", "when": "has(value.kind)", "assert": "value.kind == 'y'"`, []string{
			`/zones/0 the rule r does not hold: "x" is not "y"`,
		}},
		{"GuardOfTheDocument", `"path": "/gone", "when": "doc.floor > 50.0", "operator": "not_null"`, []string{}},
		{"GuardThatHolds", `"path": "/gone", "when": "doc.floor < 50.0", "operator": "not_null"`, []string{
			"/gone missing",
		}},
		{
			"GuardThatNeedsMore", `"path": "/zones/*", "when": "value.kind == 'x'", "operator": "not_null"`,
			[]string{"/zones/1 not evaluated: needs /zones/1/kind, which is missing"},
		},
		{
			"GuardThatNeedsMoreOfTheDocument", `"path": "/zones/*", "when": "doc.gone", "operator": "not_null"`,
			[]string{"not evaluated: needs /gone, which is missing"},
		},
		{"GuardOfAnotherType", `"when": "doc.floor", "operator": "is_null"`, []string{
			"not evaluated: the expression is neither true nor false",
		}},
		{"Needs", `"assert": "doc.zones[0].area < doc['the floor'].area"`, []string{
			"not evaluated: needs /the floor, which is missing",
		}},
		{"NeedsOfTheValue", `"path": "/zones/*", "assert": "value.area < value.b.c"`, []string{
			"/zones/0 not evaluated: needs /zones/0/b, which is missing",
			"/zones/1 not evaluated: needs /zones/1/b, which is missing",
		}},
		{"WhatIsTestedIsNotNeeded", `"assert": "(has(doc.gone) && doc.gone) || doc.floor > 'x'"`, []string{
			misfit + "; &&, || and ! are for what is true or false, such as has(x.y) and x.y != ''",
		}},
		{"Optional", `"assert": "doc.?gone.area.orValue(1) == 1 && !doc.?gone.hasValue()"`, []string{}},
		{"Types", `"path": "/n", "assert": "value > 1"`, []string{"/n " + misfit}},
		{
			"Lists", `"assert": "min([3, 1.5]) == 1.5 && max(doc.zones.map(z, z.area)) == 20.5 && sum([]) == 0.0"`,
			[]string{},
		},
		{"EmptyList", `"assert": "min([]) == 0.0"`, []string{"not evaluated: a list is empty"}},
		{"ListOfTexts", `"assert": "sum(['x']) == 0.0"`, []string{
			"not evaluated: a list holds something that is not a number",
		}},
		{"ListOfOne", `"assert": "each(doc.floor) == [40.0] && each(doc.zones).size() == 2"`, []string{}},
		{
			"Join", `"path": "/zones", "assert": "value.all(z, doc.zones.exists(other, other.id == z.id))"`,
			[]string{},
		},
		{
			"JoinWithAList", `"assert": "doc.zones.all(z, z.id in doc.zones.map(o, o.id) && z.area < 20.2)"`,
			[]string{"the rule r does not hold"},
		},
		{
			"Pairs", `"path": "/zones", "assert": "value.all(a, value.all(b, a.id == b.id || a.area != b.area))"`,
			[]string{},
		},
		{"WholeNumbersCompareWithDoubles", `"assert": "sum(doc.zones.map(z, z.area)) > 40"`, []string{}},
		{"Equality", `"assert": "doc.zones[0] == {'id': 'a', 'area': 20.0, 'kind': 'x'}"`, []string{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			same(t, tt.want, verdicts(t, tt.rule, document, "application/json"))
		})
	}

	t.Run("MessageOfAnOperator", func(t *testing.T) {
		t.Parallel()
		got := verdicts(t, `"path": "/zones/*/area", "operator": "le", "value": 20,
			"message": "{value} m2 do not fit {doc.floor}"`, document, "")
		same(t, []string{"/zones/1/area 20.5 m2 do not fit 40"}, got)
	})

	t.Run("AppliedToNothing", func(t *testing.T) {
		t.Parallel()
		for path, want := range map[string][]brief{
			"/zone/*/area":  {{"rule.r", "/zone", 1, 1, 0, "applied to nothing; did you mean zones?"}},
			"/zones/*/aera": {{"rule.r", "/zones/0/aera", 1, 12, 0, "applied to nothing; did you mean area?"}},
			"/zones/*/kind": {}, "/storeys/*/id": {}, "/zones/7": {}, "/zones/*/area/x": {},
		} {
			rule := oneRule(`"path": "` + path + `", "operator": "gt", "value": 1, "missing": "skip"`)
			engine := compile(t, engines.KindRules, rule)
			report := run(t, engine, []byte(`{"zones": [{"area": 30}, {"area": 20, "kind": 7}]}`), "")
			same(t, want, briefs(report))
			same(t, [2]int{0, len(want)}, [2]int{report.Errors + report.Warnings, report.Infos})
		}
	})

	t.Run("SeverityOfFailuresAlone", func(t *testing.T) {
		t.Parallel()
		engine := compile(t, engines.KindRules, oneRule(`"path": "/zones/*/area", "operator": "lt", "value": 20.2,
			"severity": "WARNING"`))
		report := run(t, engine, []byte(`{"zones": [{"area": 30}, {"area": "x"}, {}]}`), "")
		if report.Errors != 1 || report.Warnings != 2 {
			t.Errorf("errors = %d, warnings = %d, want 1, 2", report.Errors, report.Warnings)
		}
	})
}

func TestRulesOnYAML(t *testing.T) {
	t.Parallel()
	report := run(t, compile(t, engines.KindRules, `{"rules": [
		{"id": "low", "path": "/zones/*/setpoint", "operator": "lt", "value": 26},
		{"id": "named", "path": "/zones/*/name", "operator": "not_empty"}]}`),
		[]byte("zones:\n  - setpoint: 0x1B\n    name: A\n  - setpoint: 20\n"), "application/yaml")
	same(t, []brief{
		{"rule.low", "/zones/0/setpoint", 2, 15, 0, "27 is not less than 26"},
		{"rule.named", "/zones/1/name", 4, 5, 0, "missing"},
	}, briefs(report))
}

func TestRulesFold(t *testing.T) {
	t.Parallel()
	engine := compile(t, engines.KindRules, oneRule(`"path": "/v/*", "operator": "lt", "value": 0, "severity": "INFO"`))
	report := run(t, engine, []byte(`{"v": [`+strings.Repeat(`1, "x", `, 5000)+`-1]}`), "")
	same(t, 202, len(report.Findings))
	same(t, []brief{
		{
			"rule.r", "", 0, 0, 0, "/v/* rule.r failed 5000 times in total; 4900 of the failures are not listed " +
				"individually, " +
				"as at /v/200, /v/202, /v/204",
		},
		{
			"rule.r", "", 0, 0, 0, "/v/* (not evaluated) rule.r failed 5000 times in total; " +
				"4900 of the failures are not listed individually, as at /v/201, /v/203, /v/205",
		},
	}, briefs(report)[200:])
	same(t, 5000, report.Findings[200].Count)
	same(t, engines.SeverityInfo, report.Findings[200].Severity)
	same(t, engines.SeverityError, report.Findings[201].Severity)
	same(t, "r", report.Findings[201].AssertionID)
	if !report.Truncated || report.Errors != 5000 || report.Infos != 5000 {
		t.Errorf("truncated = %t, errors = %d, infos = %d, want true, 5000, 5000",
			report.Truncated, report.Errors, report.Infos)
	}
}
