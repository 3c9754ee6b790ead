package energyplus

import (
	"fmt"
	"time"

	"github.com/simplevalidations/simplevalidations/validations/engines/energyplus/model"
	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// checkCombined finds values that are right alone and wrong together.
func (r *modelRun) checkCombined() {
	for o := range r.Model.Known() {
		switch o.Key {
		case "runperiod":
			r.checkRunPeriod(o)
		case "sizingperiod:designday":
			r.checkDesignDay(o)
		case "runperiodcontrol:specialdays", "runperiodcontrol:daylightsavingtime":
			r.checkDateTexts(o)
		case "windowmaterial:glazing":
			if o.Is("optical_data_type", "SpectralAverage") {
				r.checkShares(o, glazingShares, false)
			}
		case "windowmaterial:shade":
			r.checkShares(o, shadeShares, true)
		case "schedule:file":
			r.checkScheduleFile(o)
		}
	}
}

func (r *modelRun) findValue(o *model.Object, field, message string) {
	r.Add(model.CheckValues, "field_range", o, o.Field(field), message)
}

const (
	beginYear = "begin_year"
	endYear   = "end_year"
)

// checkRunPeriod compares the years of a period with each other and with its days.
func (r *modelRun) checkRunPeriod(o *model.Object) {
	// EnergyPlus takes 0 for no year.
	begin, _ := o.Value(beginYear)
	end, _ := o.Value(endYear)
	const firstYear = 1583
	switch {
	case end != 0 && begin == 0:
		r.findValue(o, endYear, "there is an end year without a begin year")
	case begin != 0 && begin < firstYear:
		r.findValue(o, beginYear, fmt.Sprintf("the year %g is before %d", begin, firstYear))
	case end != 0 && end < begin:
		r.findValue(o, endYear, fmt.Sprintf("the end year %g is before the begin year %g", end, begin))
	default:
		r.checkDaysOfPeriod(o, begin, end)
	}
}

// checkDaysOfPeriod checks the first and the last day by their years, which are 0 where there is none.
func (r *modelRun) checkDaysOfPeriod(o *model.Object, begin, end float64) {
	first, last := dayOf(o, "begin"), dayOf(o, "end")
	switch {
	case begin != 0 && !isLeap(begin) && first == leapDay:
		r.findValue(o, "begin_day_of_month", fmt.Sprintf("%g has no 29th of February", begin))
	case end != 0 && !isLeap(end) && last == leapDay:
		r.findValue(o, "end_day_of_month", fmt.Sprintf("%g has no 29th of February", end))
	case end != 0 && begin == end && last > 0 && last < first:
		r.findValue(o, "end_day_of_month", "the end is before the begin")
	}
}

// leapDay is the 29th of February.
const leapDay = 60

func isLeap(year float64) bool {
	return time.Date(int(year), time.December, 31, 0, 0, 0, 0, time.UTC).YearDay() == lastDay
}

// dayOf is the day of the year of the begin or the end of a period, 0 where there is none.
func dayOf(o *model.Object, of string) int {
	month, _ := o.Value(of + "_month")
	day, _ := o.Value(of + "_day_of_month")
	return ordinalOf(int(month), int(day))
}

// humidityFields are what a design day needs by the type of its humidity condition in lower case.
var humidityFields = map[string][]string{
	"wetbulb":                          {wetBulb},
	"dewpoint":                         {wetBulb},
	"wetbulbprofiledefaultmultipliers": {wetBulb},
	"wetbulbprofilemultiplierschedule": {wetBulb, humiditySchedule},
	"wetbulbprofiledifferenceschedule": {wetBulb, humiditySchedule},
	"relativehumidityschedule":         {humiditySchedule},
	"humidityratio":                    {"humidity_ratio_at_maximum_dry_bulb"},
	"enthalpy":                         {"enthalpy_at_maximum_dry_bulb"},
}

const (
	wetBulb          = "wetbulb_or_dewpoint_at_maximum_dry_bulb"
	humiditySchedule = "humidity_condition_day_schedule_name"
	dryBulb          = "maximum_dry_bulb_temperature"
)

// checkDesignDay looks for the fields that a design day needs because of other fields.
func (r *modelRun) checkDesignDay(o *model.Object) {
	kind := "wetbulb"
	if f := o.Field("humidity_condition_type"); f != nil && f.Text != "" {
		kind = model.Fold(f.Text)
	}
	needed := humidityFields[kind]
	if !o.Is("dry_bulb_temperature_range_modifier_type", "TemperatureProfileSchedule") {
		needed = append([]string{dryBulb}, needed...)
	}
	for _, name := range needed {
		if f := o.Field(name); f == nil || f.Text == "" && f.Form != model.JSONOther {
			r.Find(model.Finding{
				Check: model.CheckRequiredFields, Code: "field_missing", Object: o, Missing: []string{name},
				Message: o.Spec.Name + " needs " + name + " for its conditions",
			})
		}
	}
}

// checkDateTexts finds texts that are no dates.
func (r *modelRun) checkDateTexts(o *model.Object) {
	for i := range o.Fields {
		f := &o.Fields[i]
		if f.Spec == nil || f.Name != "start_date" && f.Name != "end_date" || f.Text == "" || f.IsExpression() {
			continue
		}
		if _, kind := readDate(f.Text); kind == notDate {
			r.Add(model.CheckValues, "field_type", o, f,
				engine.Quote(f.Text)+" is not a date, such as 12/31 or 2nd Sunday in March")
		}
	}
}

// glazingShares and shadeShares are pairs of what goes through and what is reflected, together at most all.
var (
	glazingShares = [][2]string{
		{"solar_transmittance_at_normal_incidence", "front_side_solar_reflectance_at_normal_incidence"},
		{"solar_transmittance_at_normal_incidence", "back_side_solar_reflectance_at_normal_incidence"},
		{"visible_transmittance_at_normal_incidence", "front_side_visible_reflectance_at_normal_incidence"},
		{"visible_transmittance_at_normal_incidence", "back_side_visible_reflectance_at_normal_incidence"},
		{"infrared_transmittance_at_normal_incidence", "front_side_infrared_hemispherical_emissivity"},
		{"infrared_transmittance_at_normal_incidence", "back_side_infrared_hemispherical_emissivity"},
	}
	shadeShares = [][2]string{
		{"solar_transmittance", "solar_reflectance"},
		{"visible_transmittance", "visible_reflectance"},
		{"infrared_transmittance", "infrared_hemispherical_emissivity"},
	}
)

// checkShares finds shares of light that are more than all of it, or all of it where something must be left.
func (r *modelRun) checkShares(o *model.Object, pairs [][2]string, mustLeave bool) {
	for _, pair := range pairs {
		through, hasThrough := o.Value(pair[0])
		reflected, hasReflected := o.Value(pair[1])
		sum := through + reflected
		if !hasThrough || !hasReflected || sum < 1 || sum == 1 && !mustLeave || through > 1 || reflected > 1 {
			continue
		}
		words := "are more than 1"
		if mustLeave {
			words = "are not less than 1"
		}
		r.findValue(o, pair[1], fmt.Sprintf("%s and %s %s together", pair[0], pair[1], words))
		return
	}
}

// checkScheduleFile checks that the lines of a file may be a year.
func (r *modelRun) checkScheduleFile(o *model.Object) {
	const hours, leapHours = 8760, 8784
	if n, has := o.Value("number_of_hours_of_data"); has && n != 0 && n != hours && n != leapHours {
		message := fmt.Sprintf("%g hours are not a year; use %d or %d", n, hours, leapHours)
		r.findValue(o, "number_of_hours_of_data", message)
	}
	if n, has := o.Value("minutes_per_item"); has && n >= 1 && n <= minutesPerHour && minutesPerHour%int(n) != 0 {
		r.findValue(o, "minutes_per_item", fmt.Sprintf("%g minutes do not divide an hour", n))
	}
}
