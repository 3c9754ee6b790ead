package table_test

import (
	"encoding/json"
	"testing"

	"github.com/simplevalidations/simplevalidations/validations/engines"
)

func TestMistakesInRulesOfTables(t *testing.T) {
	t.Parallel()
	const fields = `"schema": {"fields": [{"name": "kwh", "type": "number"}, {"name": "n", "type": "integer"}]}`
	for assert, want := range map[string]string{
		"row.kwh / 2 > 1":              "column 9: / does not take a decimal and a whole number; use 2.0 instead of 2",
		"row.n > 1 && 1 + row.kwh > 2": "column 16: + does not take a decimal and a whole number; use 1.0 instead of 1",
		"row['kwh'] % 2 == 1":          "column 12: % takes whole numbers; write int(x) % 2",
		"row.kwg > 1":                  `there is no field "kwg"; did you mean kwh?`,
		"previous.kwg > 1":             `there is no field "kwg"; did you mean kwh?`,
		"row.kwh > 1 and row.n":        `column 13: "and" is not an operator; use &&`,
		"rwo.kwh > 1":                  "column 1: there is no variable or function rwo here; did you mean row?",
		"row.kwh > today()": "column 11: there is no today: a rule has no clock; " +
			"write timestamp('2026-03-01T06:00:00Z')",
	} {
		step, err := json.Marshal(map[string]any{"id": "r", "assert": assert})
		if err != nil {
			t.Fatalf("write rule: %v", err)
		}
		same(t, want, refused(t, engines.KindTable, `{`+fields+`, "row_rules": [`+string(step)+`]}`).Detail)
	}

	t.Run("Message", func(t *testing.T) {
		t.Parallel()
		fault := refused(t, engines.KindTable, `{`+fields+`, "row_rules": [
			{"id": "r", "assert": "row.n > 1", "message": "{row.n} of {row.kwh or 1}"}]}`)
		same(t, `in {row.kwh or 1}: column 9: "or" is not an operator; use ||`, fault.Detail)
	})

	t.Run("WholeNumbersAreCalculated", func(t *testing.T) {
		t.Parallel()
		engine := compile(t, engines.KindTable, `{`+fields+`, "row_rules": [
			{"id": "r", "assert": "row.n / 2 == 2 && row.n % 2 == 1 && row.kwh / 2.0 == 1.25"}]}`)
		same(t, []brief{}, briefs(run(t, engine, []byte("kwh,n\n2.5,5\n"), "text/csv")))
	})
}
