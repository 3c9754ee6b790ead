package table_test

import (
	"testing"

	"github.com/simplevalidations/simplevalidations/validations/engines"
)

func TestSampleTables(t *testing.T) {
	t.Parallel()
	engine := compile(t, engines.KindTable, string(sample(t, "schemas/meter-readings.table-step.json")))

	t.Run("GoodHasNoFindings", func(t *testing.T) {
		t.Parallel()
		report := run(t, engine, sample(t, "good/meter-readings.csv"), "text/csv")
		same(t, []brief{}, briefs(report))
	})

	t.Run("WarnPassesWithOneWarning", func(t *testing.T) {
		t.Parallel()
		report := run(t, engine, sample(t, "warn/meter-readings.csv"), "text/csv")
		message := "5 of 24 reads are estimated (20.8 %), at most 10 % are allowed"
		same(t, []brief{{Code: "rule.estimated_share", Message: message}}, briefs(report))
		same(t, engines.SeverityWarning, report.Findings[0].Severity)
		same(t, "estimated_share", report.Findings[0].AssertionID)
		same(t, []int{4, 8, 9, 15, 21}, report.Findings[0].SampleRows)
		if report.Errors != 0 || report.Warnings != 1 || report.Truncated {
			t.Errorf("errors = %d, warnings = %d, truncated = %t, want 0, 1, false",
				report.Errors, report.Warnings, report.Truncated)
		}
	})

	t.Run("BadHasEightErrors", func(t *testing.T) {
		t.Parallel()
		report := run(t, engine, sample(t, "bad/meter-readings.csv"), "text/csv")
		same(t, []brief{
			{"csv.type.number", "kwh", 5, 31, 4, `kwh "n/a" is not a number`},
			{"csv.minimum", "kwh", 9, 31, 8, "kwh -12.5 is less than 0"},
			{"csv.pattern", "meter_id", 12, 1, 11, `meter_id "MTR-77" does not match ^MTR-[0-9]{4}$`},
			{"csv.enum", "quality", 14, 37, 13, `quality "X" is not one of A, E, M`},
			{"csv.primary_key", "meter_id", 17, 1, 16, "duplicate of row 15 (meter_id, read_at)"},
			{"csv.type.datetime", "read_at", 20, 10, 19, `read_at "2026-02-30T06:00:00Z" is not a valid date-time`},
			{"csv.row.field_count", "", 22, 1, 21, "row has 4 fields, header has 5"},
			{
				"rule.missing_is_zero", "kwh", 24, 31, 23,
				"a missing reading (quality M) must carry 0 kWh, found 3.2",
			},
		}, briefs(report))
		same(t, "MTR-1001,2026-03-01T03:00:00Z,n/a,A,night", report.Findings[0].Excerpt)
		same(t, "missing_is_zero", report.Findings[7].AssertionID)
		if report.Errors != 8 || report.Warnings != 0 {
			t.Errorf("errors = %d, warnings = %d, want 8, 0", report.Errors, report.Warnings)
		}
	})
}
