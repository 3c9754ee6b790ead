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
		"row.kwg > 1":      `there is no field "kwg"; did you mean kwh?`,
		"previous.kwg > 1": `there is no field "kwg"; did you mean kwh?`,
		"rwo.kwh > 1":      "column 1: undeclared reference to 'rwo' (did you mean 'row'?)",
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
			{"id": "r", "assert": "row.n > 1", "message": "{row.n} of {row.kwh & 1}"}]}`)
		same(t, "in {row.kwh & 1}: column 9: Syntax error: token recognition error at: '& '; "+
			"use == to compare, && and || to join", fault.Detail)
	})

	t.Run("WholeNumbersAreCalculated", func(t *testing.T) {
		t.Parallel()
		engine := compile(t, engines.KindTable, `{`+fields+`, "row_rules": [
			{"id": "r", "assert": "row.n / 2 == 2.5 && row.n % 2 == 1 && row.kwh / 2 == 1.25"}]}`)
		same(t, []brief{}, briefs(run(t, engine, []byte("kwh,n\n2.5,5\n"), "text/csv")))
	})
}
