package energyplus_test

import (
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/validations/engines"
)

func TestCombinedValues(t *testing.T) {
	t.Parallel()
	engine := compile(t, engines.KindEnergyPlus, `{}`)
	const glazing = "WindowMaterial:Glazing,G,SpectralAverage,,.003,"
	tests := []struct{ name, objects, code, path, message string }{
		{
			"EndYearAlone", "RunPeriod,R,1,1,,12,31,2020;", "field_range", "RunPeriod/R/end_year",
			"there is an end year without a begin year",
		},
		{
			"EarlyYear", "RunPeriod,R,1,1,1500,12,31;", "field_range", "RunPeriod/R/begin_year",
			"the year 1500 is before 1583",
		},
		{
			"YearsReversed", "RunPeriod,R,1,1,2020,12,31,2019;", "field_range", "RunPeriod/R/end_year",
			"the end year 2019 is before the begin year 2020",
		},
		{
			"BeginInNoLeapYear", "RunPeriod,R,2,29,2019,12,31;", "field_range", "RunPeriod/R/begin_day_of_month",
			"2019 has no 29th of February",
		},
		{
			"EndInNoLeapYear", "RunPeriod,R,1,1,1900,2,29,1900;", "field_range", "RunPeriod/R/end_day_of_month",
			"1900 has no 29th of February",
		},
		{
			"EndBeforeBegin", "RunPeriod,R,6,1,2020,5,31,2020;", "field_range", "RunPeriod/R/end_day_of_month",
			"the end is before the begin",
		},
		{
			"Humidity", "SizingPeriod:DesignDay,D,1,21,WinterDesignDay,-10,0,,,WetBulb,,,,,,99000,3,0;",
			"field_missing", "SizingPeriod:DesignDay/D/wetbulb_or_dewpoint_at_maximum_dry_bulb",
			"SizingPeriod:DesignDay needs wetbulb_or_dewpoint_at_maximum_dry_bulb for its conditions",
		},
		{
			"HumiditySchedule",
			"SizingPeriod:DesignDay,D,1,21,WinterDesignDay,-10,0,,,RelativeHumiditySchedule,,,,,,99000,3,0;",
			"field_missing", "SizingPeriod:DesignDay/D/humidity_condition_day_schedule_name",
			"SizingPeriod:DesignDay needs humidity_condition_day_schedule_name for its conditions",
		},
		{
			"DryBulb", "SizingPeriod:DesignDay,D,1,21,WinterDesignDay,,0,,,,-10,,,,,99000,3,0;",
			"field_missing", "SizingPeriod:DesignDay/D/maximum_dry_bulb_temperature",
			"SizingPeriod:DesignDay needs maximum_dry_bulb_temperature for its conditions",
		},
		{
			"SpecialDay", "RunPeriodControl:SpecialDays,D,Mardi Gras,1,Holiday;", "field_type",
			"RunPeriodControl:SpecialDays/D/start_date",
			`"Mardi Gras" is not a date, such as 12/31 or 2nd Sunday in March`,
		},
		{
			"SummerTime", "RunPeriodControl:DaylightSavingTime,Last Sunday in March,31 November;", "field_type",
			"RunPeriodControl:DaylightSavingTime/end_date",
			`"31 November" is not a date, such as 12/31 or 2nd Sunday in March`,
		},
		{
			"Glazing", glazing + ".8,.1,.3,.9,.1,.1,0,.84,.84,.9;", "field_range",
			"WindowMaterial:Glazing/G/back_side_solar_reflectance_at_normal_incidence",
			"solar_transmittance_at_normal_incidence and back_side_solar_reflectance_at_normal_incidence " +
				"are more than 1 together",
		},
		{
			"Shade", "WindowMaterial:Shade,S,.1,.1,.1,.1,.9,.1,.01,.1;", "field_range",
			"WindowMaterial:Shade/S/infrared_hemispherical_emissivity",
			"infrared_transmittance and infrared_hemispherical_emissivity are not less than 1 together",
		},
		{
			"FileOfNoYear", "Schedule:File,S,,a.csv,1,0,8761;", "field_range",
			"Schedule:File/S/number_of_hours_of_data",
			"8761 hours are not a year; use 8760 or 8784",
		},
		{
			"FileOffHour", "Schedule:File,S,,a.csv,1,0,8760,,,25;", "field_range", "Schedule:File/S/minutes_per_item",
			"25 minutes do not divide an hour",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			expectFinding(t, engine, tt.objects, "energyplus."+tt.code, "ERROR", tt.path, tt.message)
		})
	}

	for name, objects := range map[string]string{
		"LeapYears":     "RunPeriod,R,2,29,2020,2,29,2024;",
		"OverNewYear":   "RunPeriod,R,12,1,2020,1,31,2021;",
		"WithoutYears":  "RunPeriod,R,12,1,,1,31;",
		"Enthalpy":      "SizingPeriod:DesignDay,D,1,21,WinterDesignDay,-10,0,,,Enthalpy,,,,9,,99000,3,0;",
		"AllOfTheLight": glazing + ".8,.1,.2,.9,.1,.1,0,.84,.84,.9;",
		"Dates": "RunPeriodControl:DaylightSavingTime,2nd Sunday in March,1st Sunday in November;" +
			"RunPeriodControl:SpecialDays,A,Last Monday in May,1,Holiday;" +
			"RunPeriodControl:SpecialDays,B,July 4,1,Holiday;" +
			"RunPeriodControl:SpecialDays,C,12/25,1,Holiday; RunPeriodControl:SpecialDays,D,150,1,Holiday;" +
			"RunPeriodControl:SpecialDays,E,4 Jul,1,Holiday; RunPeriodControl:SpecialDays,F,7/4/2020,1,Holiday;",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			same(t, []brief{}, briefs(checkModel(t, engine, complete(strings.TrimSpace(objects)), "m.idf")))
		})
	}
}
