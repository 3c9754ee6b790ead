package energyplus

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// checkSchedules checks what schedules say of days and hours, and their values by the limits that they name.
func (r *modelRun) checkSchedules() {
	limits := r.scheduleLimits()
	for _, o := range r.model.objects {
		if o.spec == nil {
			continue
		}
		switch o.key {
		case "schedule:compact":
			r.checkCompact(o)
		case "schedule:day:interval":
			r.checkIntervals(o)
		case "schedule:constant", "schedule:day:hourly", "schedule:day:list":
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

// The words that the fields of a Schedule:Compact begin with.
var (
	throughWord     = regexp.MustCompile(`(?i)^through[\s:]+(.*)$`)
	forWord         = regexp.MustCompile(`(?i)^for[\s:]+(.*)$`)
	interpolateWord = regexp.MustCompile(`(?i)^interpolate[\s:]+(.*)$`)
	untilWord       = regexp.MustCompile(`(?i)^until[\s:]+(.*)$`)
	clockTime       = regexp.MustCompile(`^(\d{1,2}):(\d{1,2})$`)
	monthAndDay     = regexp.MustCompile(`^(\d{1,2})\s*/\s*(\d{1,2})$`)
)

// dayWords are parts of the words for days.
var dayWords = []string{
	"day", "weekend", "holiday", "custom", "other",
}

const (
	minutesPerHour = 60
	minutesPerDay  = 24 * minutesPerHour
	// lastDay is 12/31 as months and days are counted here.
	lastDay = 1231
)

// compactSchedule reads the fields of a Schedule:Compact in their order: dates, days of a week, times, values.
type compactSchedule struct {
	run    *modelRun
	object *modelObject
	// through is the day of the year up to which the schedule reaches, until the minute of the day.
	through, until int
	// hasDays and wantsValue say that days, and a time whose value is next, came before.
	hasDays, wantsValue bool
	faulty              bool
}

// checkCompact reports the first fault of a Schedule:Compact: what follows cannot be understood any more.
func (r *modelRun) checkCompact(o *modelObject) {
	c := &compactSchedule{run: r, object: o, until: minutesPerDay}
	var last *modelField
	for i := range o.fields {
		f := &o.fields[i]
		if f.spec == nil || f.group == outside || f.text == "" {
			continue
		}
		c.read(f)
		if c.faulty {
			return
		}
		last = f
	}
	switch {
	case last == nil:
		c.fail(nil, "the schedule has no values")
	case c.wantsValue:
		c.fail(last, "a value is missing after this time")
	case c.until != minutesPerDay:
		c.fail(last, "the day does not end with Until: 24:00")
	case c.through != 0 && c.through != lastDay:
		c.fail(last, "the schedule does not reach Through: 12/31")
	}
}

func (c *compactSchedule) fail(f *modelField, message string) {
	c.faulty = true
	c.run.find(modelFinding{check: checkSchedules, code: "schedule", message: message, object: c.object, field: f})
}

func (c *compactSchedule) read(f *modelField) {
	if _, isNumber := f.number(); isNumber {
		if !c.wantsValue {
			c.fail(f, "a time such as Until: 8:00 is missing before this value")
		}
		c.wantsValue = false
		return
	}
	if c.wantsValue && !f.isExpression() {
		c.fail(f, engine.Quote(f.text)+" is not a number")
		return
	}
	switch {
	case f.isExpression():
		c.wantsValue = false
	case throughWord.MatchString(f.text):
		c.readThrough(f, throughWord.FindStringSubmatch(f.text)[1])
	case forWord.MatchString(f.text):
		c.readDays(f, foldName(forWord.FindStringSubmatch(f.text)[1]))
	case interpolateWord.MatchString(f.text):
	case untilWord.MatchString(f.text):
		c.readTime(f, untilWord.FindStringSubmatch(f.text)[1])
	default:
		c.fail(f, engine.Quote(f.text)+" is not Through, For, Interpolate, Until or a number")
	}
}

func (c *compactSchedule) readThrough(f *modelField, date string) {
	if c.until != minutesPerDay {
		c.fail(f, "the preceding day does not end with Until: 24:00")
		return
	}
	c.hasDays = false
	const perMonth = 100
	day := 0
	if match := monthAndDay.FindStringSubmatch(date); match != nil {
		month, _ := strconv.Atoi(match[1])
		ofMonth, _ := strconv.Atoi(match[2])
		if month < 1 || month > 12 || ofMonth < 1 || ofMonth > daysOf(month) {
			c.fail(f, engine.Quote(date)+" is not a day of a year")
			return
		}
		day = month*perMonth + ofMonth
		if day <= c.through && c.through != lastDay {
			c.fail(f, engine.Quote(date)+" is not after the preceding date")
			return
		}
	}
	// EnergyPlus ignores what is behind the last day of the year. Dates may also be words, such as the 3rd Sunday of a
	// month, whose order is not known.
	if c.through != lastDay {
		c.through = day
	}
}

func (c *compactSchedule) readDays(f *modelField, days string) {
	if c.until != minutesPerDay {
		c.fail(f, "the preceding day does not end with Until: 24:00")
		return
	}
	known := false
	for _, word := range dayWords {
		known = known || strings.Contains(days, word)
	}
	if !known {
		c.fail(f, engine.Quote(f.text)+" names no days")
		return
	}
	c.hasDays, c.until = true, 0
}

func (c *compactSchedule) readTime(f *modelField, text string) {
	minute := minuteOf(text)
	switch {
	case !c.hasDays:
		c.fail(f, "days such as For: AllDays are missing before this time")
	case minute < 0:
		c.fail(f, engine.Quote(f.text)+" is not a time of day")
	case minute < c.until%minutesPerDay:
		c.fail(f, engine.Quote(f.text)+" is not after the preceding time")
	default:
		c.until, c.wantsValue = minute, true
	}
}

// minuteOf is the minute of the day at a time such as 8:30, or -1 for an invalid time.
func minuteOf(text string) int {
	match := clockTime.FindStringSubmatch(strings.ReplaceAll(text, " ", ""))
	if match == nil {
		return -1
	}
	hour, _ := strconv.Atoi(match[1])
	minute, _ := strconv.Atoi(match[2])
	if minute >= minutesPerHour || hour*minutesPerHour+minute > minutesPerDay {
		return -1
	}
	return hour*minutesPerHour + minute
}

// checkIntervals checks the times of a Schedule:Day:Interval.
func (r *modelRun) checkIntervals(o *modelObject) {
	before := 0
	for i := range o.fields {
		f := &o.fields[i]
		if f.spec == nil || f.name != "time" || f.text == "" || f.isExpression() {
			continue
		}
		text := f.text
		if match := untilWord.FindStringSubmatch(text); match != nil {
			text = match[1]
		}
		found := modelFinding{check: checkSchedules, code: "schedule", object: o, field: f}
		minute := minuteOf(text)
		switch {
		case minute < 0:
			found.message = engine.Quote(f.text) + " is not a time of day"
		case minute < before:
			found.message = engine.Quote(f.text) + " is not after the preceding time"
		default:
			before = minute
			continue
		}
		r.find(found)
		return
	}
	if before != minutesPerDay {
		r.find(modelFinding{
			check: checkSchedules, code: "schedule", object: o, message: "the day does not end with 24:00",
		})
	}
}
