package energyplus

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/simplevalidations/simplevalidations/validations/engines/energyplus/model"
	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

const (
	minutesPerHour = 60
	minutesPerDay  = 24 * minutesPerHour
	stepsPerHour   = "number_of_timesteps_per_hour"
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
	for o := range r.Model.Known("timestep") {
		n, isNumber := o.Value(stepsPerHour)
		if !isNumber || n < 1 || n > minutesPerHour || minutesPerHour%int(n) != 0 {
			return 0
		}
		return minutesPerHour / int(n)
	}
	return 0
}

// checkTimestep warns of a number of time steps that does not divide an hour. EnergyPlus takes one near to it.
func (r *modelRun) checkTimestep() {
	for o := range r.Model.Known("timestep") {
		n, isNumber := o.Value(stepsPerHour)
		if !isNumber || n < 1 || n > minutesPerHour || n != float64(int(n)) || minutesPerHour%int(n) == 0 {
			continue
		}
		r.Add(model.CheckTimestep, "timestep", o, o.Field(stepsPerHour),
			engine.Clip(o.Field(stepsPerHour).Text)+" does not divide 60, so EnergyPlus takes another number")
	}
}

// dayClock follows the times of a day in a schedule.
type dayClock struct {
	run    *modelRun
	object *model.Object
	// step is how many minutes a time step has, 0 where that is not known.
	step int
	// until is the minute of the day up to which there are values.
	until int
	// offStep is the first time between two time steps.
	offStep *model.Field
}

// advance goes on to a time, unless that is impossible for the reason that it returns.
func (c *dayClock) advance(f *model.Field, text string, interpolated bool) string {
	minute := minuteOf(text)
	switch {
	case minute < 0:
		return engine.Quote(f.Text) + " is not a time of day"
	case min(minute, minutesPerDay) < c.until:
		return engine.Quote(f.Text) + " is not after the preceding time"
	case minute > minutesPerDay:
		c.warn(f, engine.Quote(f.Text)+" is behind the end of the day; EnergyPlus takes 24:00")
	case c.step > 0 && minute%c.step != 0 && !interpolated && c.offStep == nil:
		c.offStep = f
	}
	c.until = min(minute, minutesPerDay)
	return ""
}

// finish warns once of times between two time steps.
func (c *dayClock) finish() {
	if f := c.offStep; f != nil {
		c.warn(f, fmt.Sprintf("%s is between two time steps of %d minutes", engine.Quote(f.Text), c.step))
	}
}

func (c *dayClock) warn(f *model.Field, message string) {
	c.run.Add(model.CheckLooseSchedules, "schedule", c.object, f, message)
}

// checkIntervals checks the times of a Schedule:Day:Interval.
func (r *modelRun) checkIntervals(o *model.Object, step int) {
	c := &dayClock{run: r, object: o, step: step}
	const interpolation = "interpolate_to_timestep"
	interpolated := o.Field(interpolation) != nil && !o.Is(interpolation, "No")
	for i := range o.Fields {
		f := &o.Fields[i]
		if f.Spec == nil || f.Name != "time" || f.Text == "" || f.IsExpression() {
			continue
		}
		text := f.Text
		if match := untilWord.FindStringSubmatch(text); match != nil {
			text = match[1]
		}
		if fault := c.advance(f, text, interpolated); fault != "" {
			r.findSchedule(o, f, fault)
			return
		}
	}
	if c.until != minutesPerDay {
		r.findSchedule(o, nil, "the day does not end with 24:00")
		return
	}
	c.finish()
}

// checkDayList checks that the values of a Schedule:Day:List fill a day.
func (r *modelRun) checkDayList(o *model.Object) {
	f := o.Field("minutes_per_item")
	minutes, isNumber := o.Value("minutes_per_item")
	if o.Groups == 0 || !isNumber || minutes < 1 || minutes > minutesPerHour {
		return
	}
	switch each := int(minutes); {
	case minutesPerHour%each != 0:
		r.findSchedule(o, f, engine.Clip(f.Text)+" minutes do not divide an hour")
	case o.Groups != minutesPerDay/each:
		r.findSchedule(o, f, fmt.Sprintf("%d values of %d minutes are not a day", o.Groups, each))
	}
}

func (r *modelRun) findSchedule(o *model.Object, f *model.Field, message string) {
	r.Add(model.CheckSchedules, "schedule", o, f, message)
}
