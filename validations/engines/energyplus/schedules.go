package energyplus

import (
	"fmt"
	"math"
	"strings"

	"github.com/simplevalidations/simplevalidations/validations/engines/energyplus/model"
	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// checkValues adds the dates and other values of a model that are wrong together.
func (r *modelRun) checkValues() {
	r.checkDates()
	r.checkCombined()
	r.checkTimestep()
}

// checkSchedules adds what is wrong with the days, hours and value limits of schedules.
func (r *modelRun) checkSchedules() {
	limits := r.scheduleLimits()
	step := r.minutesPerStep()
	for o := range r.Model.Known() {
		switch o.Key {
		case "schedule:compact":
			r.checkCompact(o, step)
		case "schedule:day:interval":
			r.checkIntervals(o, step)
		case "schedule:day:list":
			r.checkDayList(o)
		case "schedule:week:compact":
			r.checkWeek(o)
		case "schedule:year":
			r.checkYear(o)
		case "schedule:constant", "schedule:day:hourly":
		default:
			continue
		}
		name := o.Field("schedule_type_limits_name")
		if name == nil {
			continue
		}
		if limit, known := limits[model.Fold(name.Text)]; known {
			r.checkLimits(o, limit)
		}
	}
}

// valueLimits are what a ScheduleTypeLimits says of values.
type valueLimits struct {
	name         string
	lower, upper float64
	discrete     bool
}

func (r *modelRun) scheduleLimits() map[string]valueLimits {
	found := map[string]valueLimits{}
	for o := range r.Model.Known("scheduletypelimits") {
		found[model.Fold(o.Label.Text)] = valueLimits{
			name: o.Label.Text, discrete: o.Is("numeric_type", "Discrete"),
			lower: o.ValueOr("lower_limit_value", math.Inf(-1)), upper: o.ValueOr("upper_limit_value", math.Inf(1)),
		}
	}
	return found
}

// isScheduleValue reports whether a field of a schedule has a value, not a date or a time.
func isScheduleValue(o *model.Object, f *model.Field) bool {
	if f.Spec == nil {
		return false
	}
	if o.Key == "schedule:compact" {
		_, isNumber := f.Number()
		return isNumber && f.Group != model.Outside
	}
	return f.Name == "hourly_value" || f.Name == "value_until_time" || f.Name == "value" ||
		strings.HasPrefix(f.Name, "hour_")
}

// checkLimits warns of values beyond the limits, as EnergyPlus does. One finding for a schedule is enough.
func (r *modelRun) checkLimits(o *model.Object, limit valueLimits) {
	for i := range o.Fields {
		f := &o.Fields[i]
		value, isNumber := f.Number()
		if !isNumber || !isScheduleValue(o, f) {
			continue
		}
		var message string
		switch {
		case value < limit.lower:
			message = fmt.Sprintf("%s is less than %s", engine.Clip(f.Text), model.NumberText(limit.lower))
		case value > limit.upper:
			message = fmt.Sprintf("%s is more than %s", engine.Clip(f.Text), model.NumberText(limit.upper))
		case limit.discrete && value != math.Trunc(value):
			message = engine.Clip(f.Text) + " is not an integer"
		default:
			continue
		}
		message += ", as " + engine.Clip(limit.name) + " wants"
		r.Add(model.CheckScheduleLimits, "schedule_limits", o, f, message)
		return
	}
}
