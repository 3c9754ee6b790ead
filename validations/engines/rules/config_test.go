package rules_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/validations/engines"
)

func TestRuleConfigurations(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, config, pointer string }{
		{"Empty", ``, ""},
		{"NoRules", `{"rules": []}`, "/rules"},
		{"ManyRules", `{"rules": [` + strings.Repeat("{},", 100) + `{}]}`, "/rules"},
		{"UnknownMember", `{"rules": [], "row_rules": []}`, "/row_rules"},
		{"UnknownMemberOfARule", oneRule(`"assert": "true", "column": "x"`), "/rules/0/column"},
		{"TypeOfAMember", oneRule(`"assert": 1`), "/rules/0/assert"},
		{"ID", `{"rules": [{"id": "R 1", "assert": "true"}]}`, "/rules/0/id"},
		{"IDTwice", `{"rules": [{"id": "r", "assert": "true"}, {"id": "r", "assert": "true"}]}`, "/rules/1/id"},
		{"Severity", oneRule(`"assert": "true", "severity": "error"`), "/rules/0/severity"},
		{"Missing", oneRule(`"assert": "true", "missing": "pass"`), "/rules/0/missing"},
		{"NothingToCheck", oneRule(`"path": "/a"`), "/rules/0"},
		{"BothToCheck", oneRule(`"operator": "is_null", "assert": "true"`), "/rules/0"},
		{"PathWithoutSlash", oneRule(`"path": "a/b", "assert": "true"`), "/rules/0/path"},
		{"PathWithTilde", oneRule(`"path": "/a~b", "assert": "true"`), "/rules/0/path"},
		{"DeepPath", oneRule(`"path": "` + strings.Repeat("/a", 201) + `", "assert": "true"`), "/rules/0/path"},
		{"Assert", oneRule(`"assert": "value >"`), "/rules/0/assert"},
		{"AssertIsNoCondition", oneRule(`"assert": "1 + 1"`), "/rules/0/assert"},
		{"AssertOfUnknown", oneRule(`"assert": "row.a > 1"`), "/rules/0/assert"},
		{"AssertWithValue", oneRule(`"assert": "true", "value": 1`), "/rules/0/value"},
		{"AssertWithTolerance", oneRule(`"assert": "true", "tolerance": 1`), "/rules/0/tolerance"},
		{"Clock", oneRule(`"assert": "now() > value"`), "/rules/0/assert"},
		{"LongAssert", oneRule(`"assert": "` + strings.Repeat("true && ", 300) + `true"`), "/rules/0/assert"},
		{
			"DeepAssert", oneRule(`"assert": "` + strings.Repeat("(", 500) + `true` + strings.Repeat(")", 500) + `"`),
			"/rules/0/assert",
		},
		{
			"CostlyAssert",
			oneRule(`"assert": "doc.all(x, doc.all(y, x.s.matches('` + strings.Repeat("a*b*", 200) + `') && ` +
				`x.t.matches('` + strings.Repeat("a*b*", 200) + `')))"`),
			"/rules/0/assert",
		},
		{"NestedLoops", oneRule(`"assert": "doc.all(x, x.all(y, y.all(z, z)))"`), "/rules/0/assert"},
		{"When", oneRule(`"assert": "true", "when": "value +"`), "/rules/0/when"},
		{"Message", oneRule(`"assert": "true", "message": "{value"`), "/rules/0/message"},
		{"UnknownOperator", oneRule(`"operator": "lte", "value": 1`), "/rules/0/operator"},
		{"ValueIsMissing", oneRule(`"operator": "eq"`), "/rules/0/value"},
		{"ValueIsNotTaken", oneRule(`"operator": "is_null", "value": null`), "/rules/0/value"},
		{"ValueOutOfRange", oneRule(`"operator": "lt", "value": 1e400`), "/rules/0/value"},
		{"ValueOfOtherType", oneRule(`"operator": "lt", "value": "5"`), "/rules/0/value"},
		{"ToleranceIsNotTaken", oneRule(`"operator": "lt", "value": 5, "tolerance": 1`), "/rules/0/tolerance"},
		{"ToleranceIsMissing", oneRule(`"operator": "approx_eq", "value": 5`), "/rules/0/tolerance"},
		{"ToleranceBelowZero", oneRule(`"operator": "approx_eq", "value": 5, "tolerance": -1`), "/rules/0/tolerance"},
		{"RangeUpsideDown", oneRule(`"operator": "between", "value": [2, 1]`), "/rules/0/value"},
		{"RangeOfTexts", oneRule(`"operator": "between", "value": ["1", "2"]`), "/rules/0/value"},
		{"RangeOfOne", oneRule(`"operator": "between", "value": [1]`), "/rules/0/value"},
		{"EmptyList", oneRule(`"operator": "in", "value": []`), "/rules/0/value"},
		{"NoList", oneRule(`"operator": "not_in", "value": "a"`), "/rules/0/value"},
		{"TextOfNumbers", oneRule(`"operator": "starts_with", "value": 1`), "/rules/0/value"},
		{"Pattern", oneRule(`"operator": "matches", "value": "("`), "/rules/0/value"},
		{
			"PatternIsLong", oneRule(`"operator": "matches", "value": "` + strings.Repeat("a", 2000) + `+"`),
			"/rules/0/value",
		},
		{"Type", oneRule(`"operator": "type_is", "value": "date"`), "/rules/0/value"},
		{"NoType", oneRule(`"operator": "type_is", "value": []`), "/rules/0/value"},
		{"LengthBelowZero", oneRule(`"operator": "len_eq", "value": -1`), "/rules/0/value"},
		{"LengthOfHalves", oneRule(`"operator": "len_le", "value": 1.5`), "/rules/0/value"},
		{"NoDate", oneRule(`"operator": "before", "value": "1 March"`), "/rules/0/value"},
		{"PeriodUpsideDown", oneRule(`"operator": "within", "value": ["2026-02-02", "2026-02-01"]`), "/rules/0/value"},
		{"PeriodOfNumbers", oneRule(`"operator": "within", "value": [1, 2]`), "/rules/0/value"},
		{"UniqueBelowStar", oneRule(`"operator": "unique", "value": "/*/id"`), "/rules/0/value"},
		{"AnyOfNothing", oneRule(`"operator": "any"`), "/rules/0/value"},
		{"AnyOfUnknown", oneRule(`"operator": "any", "value": {"operator": "is"}`), "/rules/0/value/operator"},
		{
			"AnyBelowStar", oneRule(`"operator": "any", "value": {"path": "/*", "operator": "is_null"}`),
			"/rules/0/value/path",
		},
		{"AllOfUnknownMember", oneRule(`"operator": "all", "value": {"assert": "true"}`), "/rules/0/value/assert"},
		{
			"NoneOfBadValue", oneRule(`"operator": "none", "value": {"operator": "lt", "value": "x"}`),
			"/rules/0/value/value",
		},
		{
			"DeepQuantifiers", oneRule(strings.Repeat(`"operator": "any", "value": {`, 5) + `"operator": "is_null"` +
				strings.Repeat("}", 5)), "/rules/0/value/value/value/value",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			fault := refused(t, engines.KindRules, tt.config)
			if fault.Pointer != tt.pointer || fault.Code == "" || fault.Detail == "" {
				t.Errorf("fault = %+v, want one at %s", fault, tt.pointer)
			}
		})
	}

	t.Run("FaultsOfExpressionsHaveTheirPlace", func(t *testing.T) {
		t.Parallel()
		const config = `{"rules": [{"id": "r", "assert": "valu > 1"}]}`
		same(t, "column 1: undeclared reference to 'valu' (did you mean 'value'?)",
			refused(t, engines.KindRules, config).Detail)
	})

	t.Run("AllAtOnce", func(t *testing.T) {
		t.Parallel()
		_, faults := engines.Compile(engines.KindRules, json.RawMessage(`{"rules": [
			{"id": "A", "operator": "lt", "value": "x", "missing": "no"},
			{"id": "b", "asert": "true"},
			{"id": "c", "assert": "(", "when": ")", "message": "{"}]}`), engines.DefaultLimits())
		pointers := []string{}
		for _, fault := range faults {
			pointers = append(pointers, fault.Pointer)
		}
		same(t, []string{
			"/rules/0/id", "/rules/0/missing", "/rules/0/value", "/rules/1/asert", "/rules/2/assert", "/rules/2/when",
			"/rules/2/message",
		}, pointers)
	})
}
