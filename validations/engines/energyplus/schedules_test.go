package energyplus_test

import (
	"strings"
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
			"NoSuchTime", "Compact,S,," + year + "Until: 25:00,1", "S/data/2/field", 49,
			`"Until: 25:00" is not a time of day`,
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
		{
			"DaysTwice", "Compact,S,,Through: 12/31,For: Weekdays,Until: 24:00,1,For: Friday,Until: 24:00,2",
			"S/data/4/field", 65, `"For: Friday" names days that have values already`,
		},
		{
			"DaysInTwoWords", "Compact,S,,Through: 12/31,For: All Days,Until: 24:00,1", "S/data/1/field", 36,
			`"For: All Days" names no days`,
		},
		{
			"DaysBeforeDate", "Compact,S,,For: AllDays,Until: 24:00,1", "S/data/0/field", 21,
			"a date such as Through: 12/31 is missing before these days",
		},
		{
			"YearTwice", "Compact,S,," + year + "Until: 24:00,1," + year + "Until: 24:00,1", "S/data/4/field", 64,
			"the year has ended with Through: 12/31 before",
		},
		{
			"DayTwice", "Compact,S,," + year + "Until: 24:00,1,Until: 8:00,1,Until: 24:00,1", "S/data/4/field", 64,
			`"Until: 8:00" is not after the preceding time`,
		},
		{
			"WeekdayAsDate", "Compact,S,,Through: 3rd Sunday in March,For: AllDays,Until: 24:00,1",
			"S/data/0/field", 21, `"3rd Sunday in March" is not a day of a year`,
		},
		{
			"SpaceBeforeColon", "Compact,S,," + year + "Until : 24:00,1", "S/data/2/field", 49,
			`"Until : 24:00" is not a time of day`,
		},
		{
			"BlankField", "Compact,S,," + year + ",Until: 24:00,1", "S/data/3/field", 50,
			"the preceding field is blank",
		},
		{
			"Interpolation", "Compact,S,," + year + "Interpolate: Yes,Until: 24:00,1", "S/data/2/field", 49,
			`"Interpolate: Yes" is not Interpolate: No, Average or Linear`,
		},
		{
			"DayListTooShort", "Day:List,S,,No,60,1,2", "S/minutes_per_item", 25,
			"2 values of 60 minutes are not a day",
		},
		{
			"DayListOffHour", "Day:List,S,,No,40" + strings.Repeat(",1", 36), "S/minutes_per_item", 25,
			"40 minutes do not divide an hour",
		},
		{"IntervalsTooShort", "Day:Interval,S,,No,Until: 9:00,1", "S", 1, "the day does not end with 24:00"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			kind, _, _ := strings.Cut(tt.schedule, ",")
			class := "/Schedule:" + kind + "/"
			model := complete("Schedule:" + tt.schedule + ";")
			want := brief{"energyplus.schedule", class + tt.path, 1, tt.column, 0, tt.message}
			expectOne(t, engine, model, "m.idf", want)
		})
	}

	for name, schedule := range map[string]string{
		"NoColons":     "Compact,S,,THROUGH 12/31,FOR ALLDAYS,UNTIL 24:00,1",
		"NoSpaces":     "Compact,S,,Through12/31,ForAllDays,Until24:00,1",
		"DateWithYear": "Compact,S,,Through: 12/31/2020,For: AllDays,Until: 24:00,1",
		"DaysInParts": "Compact,S,,Through: 12/31,For: Weekdays CustomDay1,Until: 24:00,1," +
			"For: Weekends Holidays CustomDay2 SummerDesignDay WinterDesignDay,Until: 24:00,1",
		"DayList":          "Day:List,S,,No,60" + strings.Repeat(",1", 24),
		"DatesInWords":     "Compact,S,,Through: 31 Dec,For: AllDays,Until: 24:00,1",
		"Interpolated":     "Compact,S,,Through: 12/31,For: AllDays,Interpolate: No,Until: 24:00,1",
		"InterpolatedBy":   "Compact,S,," + year + "Linear,Until: 8:07,1,Until: 24:00,1",
		"Expressions":      "Compact,S,,Through: 12/31,For: AllDays,Until: 24:00,=$value",
		"ExpressionOfTime": "Compact,S,," + year + "=$time,1,Until: 24:00,1",
		"SameTimeTwice":    "Compact,S,,Through: 12/31,For: AllDays,Until: 8:00,1,Until: 8:00,2,Until: 24:00,1",
		"BeyondTheYear":    "Compact,S,," + year + "Until: 24:00,1,Through: 1/1,For: AllDays,Until: 24:00,1",
		"DaysOfLeapYears":  "Compact,S,,Through: 2/29,For: AllDays,Until: 24:00,1," + year + "Until: 24:00,1",
		"Intervals":        "Day:Interval,S,,No,Until: 8:00,1,24:00,0",
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
			"List", "Day:List,S,Fraction,No,60,1,2" + strings.Repeat(",1", 22), "Day:List/S/extensions/1/value",
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

func TestWeeksAndYears(t *testing.T) {
	t.Parallel()
	engine := compile(t, engines.KindEnergyPlus, `{}`)
	const day, week = "Schedule:Day:Interval,D,,No,24:00,1;", "Schedule:Week:Compact,W,For: AllDays,D;"
	tests := []struct{ name, objects, path, message string }{
		{
			"MissingDays", "Schedule:Week:Compact,V,For: Weekdays,D,For: Weekend Holiday Summer Winter CustomDay1,D;",
			"Schedule:Week:Compact/V", "no days are named for CustomDay2",
		},
		{
			"DaysTwice", "Schedule:Week:Compact,V,For: AllDays,D,For: Sunday,D;",
			"Schedule:Week:Compact/V/data/1/daytype_list", `"For: Sunday" names days that have values already`,
		},
		{
			"MissingWeeks", "Schedule:Year,Y,,W,1,1,6,30,W,7,2,12,31;",
			"Schedule:Year/Y", "no week has the 7/1",
		},
		{
			"WeeksOverlap", "Schedule:Year,Y,,W,1,1,7,1,W,7,1,12,31;",
			"Schedule:Year/Y/schedule_weeks/1/end_day", "these days overlap with those of a week before",
		},
		{
			"WeeksOverlapBehindTheYear", "Schedule:Year,Y,,W,10,1,4,1,W,4,1,9,30;",
			"Schedule:Year/Y/schedule_weeks/1/end_day", "these days overlap with those of a week before",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			expectFinding(t, engine, day+week+tt.objects, "energyplus.schedule", "ERROR", tt.path, tt.message)
		})
	}

	for name, objects := range map[string]string{
		"Year":           "Schedule:Year,Y,,W,1,1,12,31;",
		"WithoutLeapDay": "Schedule:Year,Y,,W,1,1,2,28,W,3,1,12,31;",
		"BehindTheYear":  "Schedule:Year,Y,,W,10,1,3,31,W,4,1,9,30;",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			same(t, []brief{}, briefs(checkModel(t, engine, complete(day+week+objects), "m.idf")))
		})
	}
}

// TestLooseSchedules has what EnergyPlus simulates with a warning.
func TestLooseSchedules(t *testing.T) {
	t.Parallel()
	engine := compile(t, engines.KindEnergyPlus, `{}`)
	tests := []struct{ name, schedule, path, message string }{
		{
			"BeyondTheDay", "Compact,S,,Through: 12/31,For: AllDays,Until: 24:30,1", "Compact/S/data/2/field",
			`"Until: 24:30" is behind the end of the day; EnergyPlus takes 24:00`,
		},
		{
			"IntervalBeyondTheDay", "Day:Interval,S,,No,24:30,1", "Day:Interval/S/data/0/time",
			`"24:30" is behind the end of the day; EnergyPlus takes 24:00`,
		},
		{
			"MissingDays", "Compact,S,,Through: 12/31,For: Weekdays Weekends CustomDay1 Holiday,Until: 24:00,1",
			"Compact/S/data/0/field",
			"no For names SummerDesignDay, WinterDesignDay, CustomDay2; EnergyPlus takes 0 for these days",
		},
		{
			"MissingDaysBefore", "Compact,S,,Through: 6/30," +
				"For: Weekdays Weekends Summer Winter CustomDay1 CustomDay2," +
				"Until: 24:00,1,Through: 12/31,For: AllDays,Until: 24:00,1", "Compact/S/data/0/field",
			"no For names Holiday; EnergyPlus takes 0 for these days",
		},
		{
			"OffStep", "Compact,S,,Through: 12/31,For: AllDays,Until: 8:10,1,Until: 24:00,1", "Compact/S/data/2/field",
			`"Until: 8:10" is between two time steps of 15 minutes`,
		},
		{
			"IntervalOffStep", "Day:Interval,S,,No,8:10,1,24:00,1", "Day:Interval/S/data/0/time",
			`"8:10" is between two time steps of 15 minutes`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			objects := "Schedule:" + tt.schedule + ";"
			expectFinding(t, engine, objects, "energyplus.schedule", "WARNING", "Schedule:"+tt.path, tt.message)
		})
	}
}

// TestMissingComma has what EnergyPlus reads as it was meant.
func TestMissingComma(t *testing.T) {
	t.Parallel()
	engine := compile(t, engines.KindEnergyPlus, `{}`)
	const message = "a comma is missing at the end of this line; EnergyPlus reads on"
	const schedule = "Schedule:Compact,S,,Through: 12/31,For: AllDays,Until: 8:00,1\r\n Until: 24:00,0;"
	expectOne(t, engine, complete(schedule), "m.idf", brief{"energyplus.comma", "", 1, 62, 0, message})
	const list = "NodeList,N,In ! the first\nOut;"
	expectOne(t, engine, complete(list), "m.idf", brief{"energyplus.comma", "", 1, 14, 0, message})
}

func TestTimestep(t *testing.T) {
	t.Parallel()
	engine := compile(t, engines.KindEnergyPlus, `{}`)
	model := strings.Replace(complete(""), "Timestep,4", "Timestep,7", 1)
	report := checkModel(t, engine, model, "m.idf")
	same(t, 0, report.Errors)
	same(t, []brief{{
		"energyplus.timestep", "/Timestep/number_of_timesteps_per_hour", 2, 24, 0,
		"7 does not divide 60, so EnergyPlus takes another number",
	}}, briefs(report))
}
