package energyplus

import (
	"regexp"
	"slices"
	"strings"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// The words that the fields of a Schedule:Compact begin with. A colon is read only behind the word itself.
var (
	throughWord = regexp.MustCompile(`(?i)^through:?(.*)$`)
	forWord     = regexp.MustCompile(`(?i)^for`)
	untilWord   = regexp.MustCompile(`(?i)^until:?(.*)$`)
)

// interpolations are the words of which EnergyPlus looks for one behind the days.
var interpolations = []string{"no", "average", "linear"}

// compactSchedule reads the fields of a Schedule:Compact in their order: dates, days of a week, times, values.
type compactSchedule struct {
	dayClock

	// through is the day of the year up to which the schedule reaches.
	through int
	// date is the field of the last Through, covered has the days that its For fields name.
	date    *modelField
	covered dayTypes
	// wantsValue says that a time came before, afterDays that the days did.
	wantsValue, afterDays bool
	interpolated          bool
	faulty                bool
}

// checkCompact reports the first fault of a Schedule:Compact: what follows cannot be understood any more.
func (r *modelRun) checkCompact(o *modelObject, step int) {
	c := &compactSchedule{dayClock: dayClock{run: r, object: o, step: step, until: minutesPerDay}}
	var last *modelField
	group := 0
	for i := range o.fields {
		f := &o.fields[i]
		if f.spec == nil || f.group == outside || f.text == "" {
			continue
		}
		if f.group != group {
			c.fail(f, "the preceding field is blank")
			return
		}
		group++
		c.read(f)
		if c.faulty {
			return
		}
		last = f
	}
	if last == nil {
		c.fail(nil, "the schedule has no values")
		return
	}
	c.finish(last)
}

// finish checks what is only known at the end.
func (c *compactSchedule) finish(last *modelField) {
	c.checkCovered()
	switch {
	case c.wantsValue:
		c.fail(last, "a value is missing after this time")
	case c.until < minutesPerDay:
		c.fail(last, "the day does not end with Until: 24:00")
	case c.through != lastDay:
		c.fail(last, "the schedule does not reach Through: 12/31")
	default:
		c.dayClock.finish()
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
	afterDays := c.afterDays
	c.afterDays = false
	switch {
	case f.isExpression():
		// In place of a date, days or a time, what follows cannot be understood.
		c.faulty = !c.wantsValue
		c.wantsValue = false
	case throughWord.MatchString(f.text):
		c.readThrough(f, strings.TrimSpace(throughWord.FindStringSubmatch(f.text)[1]))
	case forWord.MatchString(f.text):
		c.readDays(f)
	case untilWord.MatchString(f.text):
		c.readTime(f, untilWord.FindStringSubmatch(f.text)[1])
	case afterDays:
		c.readInterpolation(f)
	default:
		c.failWord(f)
	}
}

func (c *compactSchedule) failWord(f *modelField) {
	c.fail(f, engine.Quote(f.text)+" is not Through, For, Interpolate, Until or a number")
}

func (c *compactSchedule) readThrough(f *modelField, date string) {
	if c.until < minutesPerDay {
		c.fail(f, "the preceding day does not end with Until: 24:00")
		return
	}
	c.checkCovered()
	c.date, c.covered = f, 0
	day, kind := readDate(date)
	switch {
	case kind != dayOfYear:
		c.fail(f, engine.Quote(date)+" is not a day of a year")
	case c.through == lastDay && day == lastDay:
		c.fail(f, "the year has ended with Through: 12/31 before")
	case c.through != lastDay && day <= c.through:
		c.fail(f, engine.Quote(date)+" is not after the preceding date")
	case c.through != lastDay:
		c.through = day
	}
	// EnergyPlus ignores earlier dates behind the last day of the year.
}

// checkCovered warns of days without values in the part of the year that ends.
func (c *compactSchedule) checkCovered() {
	if c.date == nil || c.covered == allDayTypes {
		return
	}
	c.warn(c.date, "no For names "+c.covered.missing()+"; EnergyPlus takes 0 for these days")
}

func (c *compactSchedule) readDays(f *modelField) {
	if c.until < minutesPerDay {
		c.fail(f, "the preceding day does not end with Until: 24:00")
		return
	}
	if c.date == nil {
		c.fail(f, "a date such as Through: 12/31 is missing before these days")
		return
	}
	covered, fault := c.covered.with(f.text)
	if fault != "" {
		c.fail(f, fault)
		return
	}
	c.covered = covered
	c.until, c.afterDays, c.interpolated = 0, true, false
}

func (c *compactSchedule) readInterpolation(f *modelField) {
	text, found := strings.CutPrefix(foldName(f.text), "interpolate")
	named := slices.IndexFunc(interpolations, func(word string) bool { return strings.Contains(text, word) })
	switch {
	case named < 0 && found:
		c.fail(f, engine.Quote(f.text)+" is not Interpolate: No, Average or Linear")
	case named < 0:
		c.failWord(f)
	}
	c.interpolated = named > 0
}

func (c *compactSchedule) readTime(f *modelField, text string) {
	if c.covered == 0 {
		c.fail(f, "days such as For: AllDays are missing before this time")
		return
	}
	if fault := c.advance(f, text, c.interpolated); fault != "" {
		c.fail(f, fault)
		return
	}
	c.wantsValue = true
}
