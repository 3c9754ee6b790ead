package energyplus_test

import (
	"testing"

	"github.com/simplevalidations/simplevalidations/validations/engines"
)

func TestSchedules(t *testing.T) {
	t.Parallel()
	engine := compile(t, engines.KindEnergyPlus, `{}`)
	const year = "Through: 12/31,For: AllDays,"
	tests := []struct {
		name, schedule string
		path           string
		column         int
		message        string
	}{
		{"NoValues", "Compact,S,", "S", 1, "the schedule has no values"},
		{
			"NoTime", "Compact,S,," + year + "1", "S/data/2/field", 49,
			"a time such as Until: 8:00 is missing before this value",
		},
		{
			"NoDays", "Compact,S,,Through: 12/31,Until: 24:00,1", "S/data/1/field", 36,
			"days such as For: AllDays are missing before this time",
		},
		{
			"NoValue", "Compact,S,," + year + "Until: 8:00,Until: 24:00,1", "S/data/3/field", 61,
			`"Until: 24:00" is not a number`,
		},
		{
			"NoLastValue", "Compact,S,," + year + "Until: 24:00", "S/data/2/field", 49,
			"a value is missing after this time",
		},
		{
			"NoLastHour", "Compact,S,," + year + "Until: 23:00,1", "S/data/3/field", 62,
			"the day does not end with Until: 24:00",
		},
		{
			"NoLastHourBeforeDays", "Compact,S,," + year + "Until: 23:00,1,For: AllOtherDays,Until: 24:00,1",
			"S/data/4/field", 64, "the preceding day does not end with Until: 24:00",
		},
		{
			"NoLastHourBeforeDate", "Compact,S,,Through: 6/30,For: AllDays,Until: 9:00,1," + year + "Until: 24:00,1",
			"S/data/4/field", 62, "the preceding day does not end with Until: 24:00",
		},
		{
			"NoLastDay", "Compact,S,,Through: 6/30,For: AllDays,Until: 24:00,1", "S/data/3/field", 61,
			"the schedule does not reach Through: 12/31",
		},
		{
			"NoSuchDay", "Compact,S,,Through: 2/30,For: AllDays,Until: 24:00,1", "S/data/0/field", 21,
			`"2/30" is not a day of a year`,
		},
		{
			"DaysOutOfOrder", "Compact,S,,Through: 6/30,For: AllDays,Until: 24:00,1,Through: 5/31",
			"S/data/4/field", 63,
			`"5/31" is not after the preceding date`,
		},
		{
			"NoSuchDays", "Compact,S,,Through: 12/31,For: Someone,Until: 24:00,1", "S/data/1/field", 36,
			`"For: Someone" names no days`,
		},
		{
			"NoSuchTime", "Compact,S,," + year + "Until: 24:01,1", "S/data/2/field", 49,
			`"Until: 24:01" is not a time of day`,
		},
		{
			"TimesOutOfOrder", "Compact,S,," + year + "Until: 9:00,1,Until: 8:00,1", "S/data/4/field", 63,
			`"Until: 8:00" is not after the preceding time`,
		},
		{
			"NoSuchWord", "Compact,S,," + year + "Up to 24:00,1", "S/data/2/field", 49,
			`"Up to 24:00" is not Through, For, Interpolate, Until or a number`,
		},
		{
			"IntervalsOutOfOrder", "Day:Interval,S,,No,9:00,1,8:00,0,24:00,1", "S/data/1/time", 36,
			`"8:00" is not after the preceding time`,
		},
		{"NoSuchTimeOfInterval", "Day:Interval,S,,No,9h,1,24:00,1", "S/data/0/time", 29, `"9h" is not a time of day`},
		{"IntervalsTooShort", "Day:Interval,S,,No,Until: 9:00,1", "S", 1, "the day does not end with 24:00"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			class := "/Schedule:Compact/"
			if tt.schedule[:3] == "Day" {
				class = "/Schedule:Day:Interval/"
			}
			model := complete("Schedule:" + tt.schedule + ";")
			want := brief{"energyplus.schedule", class + tt.path, 1, tt.column, 0, tt.message}
			expectOne(t, engine, model, "m.idf", want)
		})
	}

	for name, schedule := range map[string]string{
		"NoColons":        "Compact,S,,THROUGH 12/31,FOR ALLDAYS,UNTIL 24:00,1",
		"DatesInWords":    "Compact,S,,Through: 31 Dec,For: AllDays,Until: 24:00,1",
		"Interpolated":    "Compact,S,,Through: 12/31,For: Weekdays Holiday,Interpolate: No,Until: 24:00,1",
		"Expressions":     "Compact,S,,Through: 12/31,For: AllDays,Until: 24:00,=$value",
		"SameTimeTwice":   "Compact,S,,Through: 12/31,For: AllDays,Until: 8:00,1,Until: 8:00,2,Until: 24:00,1",
		"BeyondTheYear":   "Compact,S,," + year + "Until: 24:00,1,Through: 1/1,For: AllDays,Until: 24:00,1",
		"DaysOfLeapYears": "Compact,S,,Through: 2/29,For: AllDays,Until: 24:00,1," + year + "Until: 24:00,1",
		"Intervals":       "Day:Interval,S,,No,Until: 8:00,1,24:00,0",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			same(t, []brief{}, briefs(checkModel(t, engine, complete("Schedule:"+schedule+";"), "m.idf")))
		})
	}
}

func TestScheduleLimits(t *testing.T) {
	t.Parallel()
	engine := compile(t, engines.KindEnergyPlus, `{}`)
	const limits = ";ScheduleTypeLimits,Fraction,0,1,Continuous;ScheduleTypeLimits,OnOff,0,1,Discrete;"
	tests := []struct{ name, schedule, path, message string }{
		{"Constant", "Constant,S,Fraction,1.5", "Constant/S/hourly_value", "1.5 is more than 1, as Fraction wants"},
		{"Below", "Constant,S,fraction,-1", "Constant/S/hourly_value", "-1 is less than 0, as Fraction wants"},
		{"Discrete", "Constant,S,OnOff,.5", "Constant/S/hourly_value", ".5 is not an integer, as OnOff wants"},
		{"Hourly", "Day:Hourly,S,Fraction,0,0,2,3", "Day:Hourly/S/hour_3", "2 is more than 1, as Fraction wants"},
		{
			"List", "Day:List,S,Fraction,No,60,1,2", "Day:List/S/extensions/1/value",
			"2 is more than 1, as Fraction wants",
		},
		{
			"Interval", "Day:Interval,S,Fraction,No,24:00,2", "Day:Interval/S/data/0/value_until_time",
			"2 is more than 1, as Fraction wants",
		},
		{
			"Compact", "Compact,S,Fraction,Through: 12/31,For: AllDays,Until: 24:00,2", "Compact/S/data/3/field",
			"2 is more than 1, as Fraction wants",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			report := checkModel(t, engine, complete("Schedule:"+tt.schedule+limits), "m.idf")
			if len(report.Findings) != 1 {
				t.Fatalf("findings = %+v, want one", report.Findings)
			}
			f := report.Findings[0]
			want := []string{"energyplus.schedule_limits", "/Schedule:" + tt.path, tt.message, "WARNING"}
			same(t, want, []string{f.Code, f.Path, f.Message, string(f.Severity)})
		})
	}
}
