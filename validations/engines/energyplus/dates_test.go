package energyplus_test

import (
	"testing"

	"github.com/simplevalidations/simplevalidations/validations/engines"
)

func TestDates(t *testing.T) {
	t.Parallel()
	engine := compile(t, engines.KindEnergyPlus, `{}`)
	const week = " Schedule:Week:Compact,W,For: AllDays,D; Schedule:Day:Interval,D,,No,24:00,1;"
	for name, tt := range map[string]struct {
		objects string
		want    brief
	}{
		"Begin": {
			"RunPeriod,RP,2,30,,12,31;",
			brief{"energyplus.field_range", "/RunPeriod/RP/begin_day_of_month", 1, 16, 0, "month 2 has no day 30"},
		},
		"End": {
			"RunPeriod,RP,1,1,,11,31;",
			brief{"energyplus.field_range", "/RunPeriod/RP/end_day_of_month", 1, 22, 0, "month 11 has no day 31"},
		},
		"InAGroup": {
			"Schedule:Year,Y,,W,1,1,6,31;" + week,
			brief{
				"energyplus.field_range", "/Schedule:Year/Y/schedule_weeks/0/end_day", 1, 26, 0,
				"month 6 has no day 31",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			expectOne(t, engine, complete(tt.objects), "m.idf", tt.want)
		})
	}
	t.Run("EPJSON", func(t *testing.T) {
		t.Parallel()
		model := `{"Version":{"V":{"version_identifier":"23.2"}}, "Building":{"B":{}}, "GlobalGeometryRules":{"G":{
			"starting_vertex_position":"UpperLeftCorner","vertex_entry_direction":"Counterclockwise",
			"coordinate_system":"Relative"}},
			"RunPeriod":{"RP":{"begin_month":2,"begin_day_of_month":30,"end_month":12,"end_day_of_month":31}}}`
		expectOne(t, engine, model, "m.epJSON", brief{
			"energyplus.field_range", "/RunPeriod/RP/begin_day_of_month", 4, 60, 0, "month 2 has no day 30",
		})
	})
	t.Run("LeapDay", func(t *testing.T) {
		t.Parallel()
		same(t, []brief{}, briefs(checkModel(t, engine, complete("RunPeriod,RP,2,29,,12,31;"), "m.idf")))
	})
}
