package energyplus

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

const (
	minutesPerHour = 60
	minutesPerDay  = 24 * minutesPerHour
)

var clockTime = regexp.MustCompile(`^(\d{1,2}):(\d{1,2})$`)

// minuteOf is the minute of the day at a time such as 8:30, -1 where there is no such time. EnergyPlus takes 24:30 for
// 24:00.
func minuteOf(text string) int {
	match := clockTime.FindStringSubmatch(strings.ReplaceAll(text, " ", ""))
	if match == nil {
		return -1
	}
	hour, _ := strconv.Atoi(match[1])
	minute, _ := strconv.Atoi(match[2])
	if minute >= minutesPerHour || hour*minutesPerHour > minutesPerDay {
		return -1
	}
	return hour*minutesPerHour + minute
}

// minutesPerStep is how long a time step is, 0 where that is not known.
func (r *modelRun) minutesPerStep() int {
	for _, o := range r.model.objects {
		if o.key != "timestep" || o.spec == nil {
			continue
		}
		f := o.field("number_of_timesteps_per_hour")
		if f == nil {
			return 0
		}
		n, isNumber := f.number()
		if !isNumber || n < 1 || n > minutesPerHour || minutesPerHour%int(n) != 0 {
			return 0
		}
		return minutesPerHour / int(n)
	}
	return 0
}

// checkTimestep warns of a number of time steps that does not divide an hour. EnergyPlus takes one near to it.
func (r *modelRun) checkTimestep() {
	for _, o := range r.model.objects {
		if o.key != "timestep" || o.spec == nil {
			continue
		}
		f := o.field("number_of_timesteps_per_hour")
		if f == nil {
			continue
		}
		n, isNumber := f.number()
		if !isNumber || n < 1 || n > minutesPerHour || n != float64(int(n)) || minutesPerHour%int(n) == 0 {
			continue
		}
		r.find(modelFinding{
			check: checkTimestep, code: "timestep", object: o, field: f,
			message: engine.Clip(f.text) + " does not divide 60, so EnergyPlus takes another number",
		})
	}
}

// dayClock follows the times of a day in a schedule.
type dayClock struct {
	run    *modelRun
	object *modelObject
	// step is how many minutes a time step has, 0 where that is not known.
	step int
	// until is the minute of the day up to which there are values.
	until int
	// offStep is the first time between two time steps.
	offStep *modelField
}

// advance goes on to a time, unless that is impossible for the reason that it returns.
func (c *dayClock) advance(f *modelField, text string, interpolated bool) string {
	minute := minuteOf(text)
	switch {
	case minute < 0:
		return engine.Quote(f.text) + " is not a time of day"
	case min(minute, minutesPerDay) < c.until:
		return engine.Quote(f.text) + " is not after the preceding time"
	case minute > minutesPerDay:
		c.warn(f, engine.Quote(f.text)+" is behind the end of the day; EnergyPlus takes 24:00")
	case c.step > 0 && minute%c.step != 0 && !interpolated && c.offStep == nil:
		c.offStep = f
	}
	c.until = min(minute, minutesPerDay)
	return ""
}

// finish warns once of times between two time steps.
func (c *dayClock) finish() {
	if f := c.offStep; f != nil {
		c.warn(f, fmt.Sprintf("%s is between two time steps of %d minutes", engine.Quote(f.text), c.step))
	}
}

func (c *dayClock) warn(f *modelField, message string) {
	c.run.find(modelFinding{check: checkLooseSchedules, code: "schedule", message: message, object: c.object, field: f})
}

// checkIntervals checks the times of a Schedule:Day:Interval.
func (r *modelRun) checkIntervals(o *modelObject, step int) {
	c := &dayClock{run: r, object: o, step: step}
	interpolation := o.field("interpolate_to_timestep")
	interpolated := interpolation != nil && !strings.EqualFold(interpolation.text, "No")
	found := modelFinding{check: checkSchedules, code: "schedule", object: o}
	for i := range o.fields {
		f := &o.fields[i]
		if f.spec == nil || f.name != "time" || f.text == "" || f.isExpression() {
			continue
		}
		text := f.text
		if match := untilWord.FindStringSubmatch(text); match != nil {
			text = match[1]
		}
		if found.message = c.advance(f, text, interpolated); found.message != "" {
			found.field = f
			r.find(found)
			return
		}
	}
	if c.until != minutesPerDay {
		found.message = "the day does not end with 24:00"
		r.find(found)
		return
	}
	c.finish()
}

// checkDayList checks that the values of a Schedule:Day:List fill a day.
func (r *modelRun) checkDayList(o *modelObject) {
	f := o.field("minutes_per_item")
	if f == nil || o.groups == 0 {
		return
	}
	minutes, isNumber := f.number()
	if !isNumber || minutes < 1 || minutes > minutesPerHour {
		return
	}
	found := modelFinding{check: checkSchedules, code: "schedule", object: o, field: f}
	switch each := int(minutes); {
	case minutesPerHour%each != 0:
		found.message = engine.Clip(f.text) + " minutes do not divide an hour"
	case o.groups != minutesPerDay/each:
		found.message = fmt.Sprintf("%d values of %d minutes are not a day", o.groups, each)
	default:
		return
	}
	r.find(found)
}
