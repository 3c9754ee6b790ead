package rules_test

import "testing"

// TestLongNumbers compares whole numbers that doubles round.
func TestLongNumbers(t *testing.T) {
	t.Parallel()
	const (
		holds    = ""
		fails    = "the rule r does not hold"
		document = `{"id": 9007199254740993, "other": 9007199254740992, "below": -9007199254740993, "five": 5,
			"unsigned": 18446744073709551615, "longest": 123456789012345678901, "mole": 6.02214076e23,
			"known": [9007199254740992]}`
	)
	for expression, want := range map[string]string{
		"doc.id == doc.other":                         fails + ": 9007199254740993 is not 9007199254740992",
		"doc.id in doc.known":                         fails + ": 9007199254740993 is not in a list of 1 element",
		"doc.known.exists(k, k == doc.id)":            fails,
		"doc.id == 9007199254740992":                  fails + ": 9007199254740993 is not 9007199254740992",
		"doc.id == 9007199254740993":                  holds,
		"doc.id > doc.other && doc.below < -doc.five": holds,
		"doc.five < doc.id":                           holds,
		"string(doc.id) == '9007199254740993'":        holds,
		"int(doc.id) % 2 == 1":                        holds,
		"double(doc.id) / 2.0 > 5.0":                  holds,
		"doc.unsigned == 18446744073709551615u":       holds,
		"doc.unsigned == 18446744073709551614u":       fails + ": 18446744073709551615 is not 18446744073709551614",
		"doc.mole / 2.0 > 3e23":                       holds,
		"sum(doc.known) > 5.0":                        holds,
		"doc.longest > 1": "not evaluated: a number has too many digits for an expression; " +
			"use an operator such as eq or gt",
	} {
		t.Run(expression, func(t *testing.T) {
			t.Parallel()
			report := run(t, compile(t, "rules", assertion(t, expression)), []byte(document), "application/json")
			got := holds
			if len(report.Findings) > 0 {
				got = report.Findings[0].Message
			}
			same(t, want, got)
		})
	}
}
