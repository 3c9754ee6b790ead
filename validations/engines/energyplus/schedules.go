package energyplus

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// checkSchedules checks what schedules say of days and hours, and their values by the limits that they name.
func (r *modelRun) checkSchedules() {
	limits := r.scheduleLimits()
	step := r.minutesPerStep()
	for _, o := range r.model.objects {
		if o.spec == nil {
			continue
		}
		switch o.key {
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
		name := o.field("schedule_type_limits_name")
		if name == nil {
			continue
		}
		if limit, known := limits[foldName(name.text)]; known {
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
	for _, o := range r.model.objects {
		if o.key != "scheduletypelimits" || o.spec == nil {
			continue
		}
		limit := valueLimits{name: o.label.text, lower: math.Inf(-1), upper: math.Inf(1)}
		if f := o.field("lower_limit_value"); f != nil {
			if value, isNumber := f.number(); isNumber {
				limit.lower = value
			}
		}
		if f := o.field("upper_limit_value"); f != nil {
			if value, isNumber := f.number(); isNumber {
				limit.upper = value
			}
		}
		if f := o.field("numeric_type"); f != nil {
			limit.discrete = strings.EqualFold(f.text, "Discrete")
		}
		found[foldName(o.label.text)] = limit
	}
	return found
}

// isScheduleValue reports whether a field of a schedule has a value, not a date or a time.
func isScheduleValue(o *modelObject, f *modelField) bool {
	if f.spec == nil {
		return false
	}
	if o.key == "schedule:compact" {
		_, isNumber := f.number()
		return isNumber && f.group != outside
	}
	return f.name == "hourly_value" || f.name == "value_until_time" || f.name == "value" ||
		strings.HasPrefix(f.name, "hour_")
}

// checkLimits warns of values beyond the limits, as EnergyPlus does. One finding for a schedule is enough.
func (r *modelRun) checkLimits(o *modelObject, limit valueLimits) {
	for i := range o.fields {
		f := &o.fields[i]
		value, isNumber := f.number()
		if !isNumber || !isScheduleValue(o, f) {
			continue
		}
		var message string
		switch {
		case value < limit.lower:
			message = fmt.Sprintf("%s is less than %s", engine.Clip(f.text), formatNumber(limit.lower))
		case value > limit.upper:
			message = fmt.Sprintf("%s is more than %s", engine.Clip(f.text), formatNumber(limit.upper))
		case limit.discrete && value != math.Trunc(value):
			message = engine.Clip(f.text) + " is not an integer"
		default:
			continue
		}
		message += ", as " + engine.Clip(limit.name) + " wants"
		r.find(modelFinding{check: checkScheduleLimits, code: "schedule_limits", message: message, object: o, field: f})
		return
	}
}

func formatNumber(value float64) string {
	return strconv.FormatFloat(value, 'g', -1, 64)
}
