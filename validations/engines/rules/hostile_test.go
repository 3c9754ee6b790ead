package rules_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/simplevalidations/simplevalidations/validations/engines"
)

func TestHostileRules(t *testing.T) {
	t.Parallel()
	long := `{"s": "` + strings.Repeat("a", 1_000_000) + `"}`
	many := `{"v": {"w": [` + strings.Repeat("[1, 2],", 50_000) + `0]}}`
	numbers := `{"n": [` + strings.Repeat("1, ", 50_000) + `0]}`
	const tooMuch = "not evaluated: it costs too much; " +
		"set path to the elements of one list, as in /zones/*, and loop over the other list only"
	tests := []struct{ name, rule, document, want string }{
		{
			"Pattern", `"path": "/s", "operator": "matches", "value": "(.{0,500}){0,2}z"`, long,
			"/s not evaluated: the pattern costs too much on a text of this length",
		},
		{
			"PatternOfAnExpression", `"assert": "doc.s.matches('(a*)*(b*)*(c*)*$') && doc.s.contains(doc.s + doc.s)"`,
			strings.Replace(long, "{", `{"t": 1, `, 1), "not evaluated: it costs too much",
		},
		{
			"DeepEquality", `"assert": "[` + strings.Repeat("1,", 500) + `2].all(x, doc == doc)"`, many,
			tooMuch,
		},
		{
			"DeepMembership", `"assert": "[` + strings.Repeat("1,", 500) + `2].all(x, doc in [doc])"`, many,
			tooMuch,
		},
		{
			"HiddenEquality", `"assert": "[` + strings.Repeat("1,", 500) +
				`2].all(x, [{'a': [doc] + [doc]}] == [{'a': [doc] + [doc]}])"`, many,
			tooMuch,
		},
		{
			"Sums", `"assert": "[` + strings.Repeat("1,", 400) + `2].all(x, sum(doc.n) > 0.0)"`, numbers,
			tooMuch,
		},
		{
			"ReplaceMakesALongText", `"assert": "doc.s.replace('', doc.s).size() > 1"`, long,
			"not evaluated: the text would be too long",
		},
		{
			"JoinMakesALongText", `"assert": "doc.t.join('` + strings.Repeat("x", 1500) + `').size() > 1"`,
			`{"t": ["x"` + strings.Repeat(`, "x"`, 20_000) + `]}`, "not evaluated: the text would be too long",
		},
		{
			"SplitMakesManyTexts", `"assert": "doc.s.split('').size() > 1"`,
			strings.Replace(long, "a", strings.Repeat("a", 100_000), 1),
			"not evaluated: the text would be too long",
		},
		{
			"FormatMakesALongText", `"assert": "'` + strings.Repeat("%s", 100) + `'.format([` +
				strings.Repeat("doc.s, ", 99) + `doc.s]).size() > 1"`, long,
			"not evaluated: the text would be too long",
		},
		{
			"DoubledTexts",
			`"assert": "cel.bind(a, doc.s + doc.s, cel.bind(b, a + a, cel.bind(c, b + b, size(c) > 1)))"`,
			long, tooMuch,
		},
		{
			"DistinctLists", `"assert": "doc.v.w.distinct().size() > 1"`, many, "not evaluated: it costs too much",
		},
		{
			"SetsOfLists", `"assert": "sets.equivalent(doc.v.w, doc.v.w)"`, many, "not evaluated: it costs too much",
		},
		{
			"SetsOfNumbers", `"assert": "sets.intersects(doc.n, doc.n.map(n, n + 1.5))"`, numbers, tooMuch,
		},
		{
			"PatternOfTheDocument", `"assert": "doc.s.matches(doc.t)"`,
			strings.Replace(long, "{", `{"t": "(.{0,240}){0,2}z", `, 1), "not evaluated: it costs too much",
		},
		{
			"Range", `"assert": "lists.range(int(doc.n)).size() > 1"`, `{"n": 100000000}`,
			"not evaluated: lists.range: size 100000000 exceeds maximum allowed (1000000)",
		},
		{
			"MembershipOfAnyList", `"assert": "[` + strings.Repeat("1,", 50) + `2].all(x, !(x + 1 in doc.n))"`, numbers,
			tooMuch,
		},
		{
			"SortOfAnyList", `"assert": "[1, 2].all(x, size(doc.n.sort()) > x)"`, numbers, tooMuch,
		},
		{
			"LongTexts", `"assert": "[` + strings.Repeat("1,", 50) + `2].all(x, doc.s == doc.s)"`, long, tooMuch,
		},
		{
			"Loop", `"assert": "doc.n.all(x, x != 5 && x != 6 && x != 7)"`, numbers,
			tooMuch,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			limits := engines.DefaultLimits()
			limits.MaxDocumentRuleCost = 200_000
			engine := compileWithin(t, engines.KindRules, oneRule(tt.rule), limits)
			report := run(t, engine, []byte(tt.document), "application/json")
			same(t, 1, len(report.Findings))
			same(t, tt.want, strings.TrimSpace(report.Findings[0].Path+" "+report.Findings[0].Message))
		})
	}

	// Each evaluation keeps within its own limit.
	values := strings.Repeat("["+strings.Repeat("12345, ", 105)+"1], ", 3500)
	texts := strings.Repeat(`"`+strings.Repeat("a", 100_000)+`", `, 20)
	sets := `"n": [` + strings.Repeat("1, ", 1500) + `1], "m": [` + strings.Repeat("2, ", 1500) + `2]`
	for name, tt := range map[string]struct{ rule, document string }{
		"Loops":                 {`"assert": "value.exists(x, value.exists(y, x + y == -1))"`, values},
		"Patterns":              {`"assert": "value.matches('(.{0,240}){0,2}z')"`, texts},
		"PatternsOfTheDocument": {`"assert": "value.matches(doc.p)"`, texts},
		"PatternsOfAnOperator":  {`"operator": "matches", "value": "(.{0,240}){0,2}z"`, texts},
		"Sets":                  {`"assert": "sets.intersects(doc.n, doc.m)"`, values},
		"Guards":                {`"when": "value.all(x, value.all(y, x + y > 1))", "operator": "not_null"`, values},
		"Messages":              {`"assert": "false", "message": "{value.all(x, value.all(y, x + y > 1))}"`, values},
	} {
		t.Run("TheStepEndsFor"+name, func(t *testing.T) {
			t.Parallel()
			limits := engines.DefaultLimits()
			limits.MaxStepCost = 5_000_000
			engine := compileWithin(t, engines.KindRules, oneRule(`"path": "/a/*", `+tt.rule), limits)
			document := `{"p": "(.{0,240}){0,2}z", ` + sets + `, "a": [` + tt.document + `"x"]}`
			_, err := engine.Run(t.Context(), engines.NewDocument([]byte(document), "application/json", ""))
			if exhausted, ok := errors.AsType[*engines.ExhaustedError](err); !ok ||
				exhausted.Reason != "needed more than 5000000 units of work for its rules" {
				t.Errorf("error = %v, want that the work is used up", err)
			}
		})
	}

	for name, rule := range map[string]string{
		"Places":        `"path": "/v/w/*", "assert": "doc.v.w.exists(y, y == value)"`,
		"OneEvaluation": `"assert": "doc.v.w.all(x, doc.v.w.all(y, x != 1))"`,
	} {
		t.Run("DeadlineEndsTheRunOf"+name, func(t *testing.T) {
			t.Parallel()
			limits := engines.DefaultLimits()
			// Without a look at the context the evaluation would take more time than a test has.
			limits.MaxDocumentRuleCost = 1 << 40
			engine := compileWithin(t, engines.KindRules, oneRule(rule), limits)
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			_, err := engine.Run(ctx, engines.NewDocument([]byte(many), "application/json", ""))
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("error = %v, want the deadline's", err)
			}
		})
	}

	t.Run("LargeDocument", func(t *testing.T) {
		t.Parallel()
		engine := compile(t, engines.KindRules, `{"rules": [
			{"id": "pairs", "path": "/v/w/*", "operator": "len_eq", "value": 2},
			{"id": "small", "path": "/v/w/*/1", "operator": "lt", "value": 3, "missing": "skip"},
			{"id": "twins", "path": "/v/w", "operator": "unique"}]}`)
		large := strings.Replace(many, "[[", "["+strings.Repeat("[1, 2],", 150_000)+"[", 1)
		report := run(t, engine, []byte(large), "application/json")
		same(t, []brief{
			{
				"rule.pairs", "/v/w/200000", 1, 1400014, 0,
				"not evaluated: wants a string, a list or an object, found the number 0",
			},
			{"rule.twins", "/v/w/1", 1, 21, 0, "element 1 equals element 0; the list has 199999 duplicates"},
		}, briefs(report))
	})
}
