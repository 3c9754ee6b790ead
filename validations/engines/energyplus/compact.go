package energyplus

import (
	"regexp"
	"slices"
	"strings"

	"github.com/simplevalidations/simplevalidations/validations/engines/energyplus/model"
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
	date    *model.Field
	covered dayTypes
	// wantsValue says that a time came before, afterDays that the days did.
	wantsValue, afterDays bool
	interpolated          bool
}

// unreadable is the fault of an expression in place of a date, days or a time: what follows cannot be understood.
const unreadable = "an expression"

// checkCompact reports the first fault of a Schedule:Compact: what follows cannot be understood any more.
func (r *modelRun) checkCompact(o *model.Object, step int) {
	c := &compactSchedule{dayClock: dayClock{run: r, object: o, step: step, until: minutesPerDay}}
	var last *model.Field
	group := 0
	for i := range o.Fields {
		f := &o.Fields[i]
		if f.Spec == nil || f.Group == model.Outside || f.Text == "" {
			continue
		}
		fault := "the preceding field is blank"
		if f.Group == group {
			fault = c.read(f)
		}
		if fault != "" {
			c.report(f, fault)
			return
		}
		group++
		last = f
	}
	c.report(last, c.finish(last))
}

func (c *compactSchedule) report(f *model.Field, fault string) {
	if fault != "" && fault != unreadable {
		c.run.findSchedule(c.object, f, fault)
	}
}

// finish says what is only known at the end.
func (c *compactSchedule) finish(last *model.Field) string {
	if last == nil {
		return "the schedule has no values"
	}
	c.checkCovered()
	switch {
	case c.wantsValue:
		return "a value is missing after this time"
	case c.until < minutesPerDay:
		return "the day does not end with Until: 24:00"
	case c.through != lastDay:
		return "the schedule does not reach Through: 12/31"
	}
	c.dayClock.finish()
	return ""
}

// read reads the next field, and says what is wrong with it.
func (c *compactSchedule) read(f *model.Field) string {
	_, isNumber := f.Number()
	wantsValue, afterDays := c.wantsValue, c.afterDays
	c.wantsValue, c.afterDays = false, false
	switch {
	case isNumber && !wantsValue:
		return "a time such as Until: 8:00 is missing before this value"
	case isNumber, wantsValue && f.IsExpression():
		return ""
	case wantsValue:
		return engine.Quote(f.Text) + " is not a number"
	case f.IsExpression():
		return unreadable
	case throughWord.MatchString(f.Text):
		return c.readThrough(f, strings.TrimSpace(throughWord.FindStringSubmatch(f.Text)[1]))
	case forWord.MatchString(f.Text):
		return c.readDays(f)
	case untilWord.MatchString(f.Text):
		return c.readTime(f, untilWord.FindStringSubmatch(f.Text)[1])
	case afterDays:
		return c.readInterpolation(f)
	default:
		return unknownWord(f)
	}
}

func unknownWord(f *model.Field) string {
	return engine.Quote(f.Text) + " is not Through, For, Interpolate, Until or a number"
}

func (c *compactSchedule) readThrough(f *model.Field, date string) string {
	if c.until < minutesPerDay {
		return "the preceding day does not end with Until: 24:00"
	}
	c.checkCovered()
	c.date, c.covered = f, 0
	day, kind := readDate(date)
	switch {
	case kind != dayOfYear:
		return engine.Quote(date) + " is not a day of a year"
	case c.through == lastDay && day == lastDay:
		return "the year has ended with Through: 12/31 before"
	case c.through != lastDay && day <= c.through:
		return engine.Quote(date) + " is not after the preceding date"
	}
	// EnergyPlus ignores earlier dates behind the last day of the year.
	c.through = max(c.through, day)
	return ""
}

// checkCovered warns of days without values in the part of the year that ends.
func (c *compactSchedule) checkCovered() {
	if c.date == nil || c.covered == allDayTypes {
		return
	}
	c.warn(c.date, "no For names "+c.covered.missing()+"; EnergyPlus takes 0 for these days")
}

func (c *compactSchedule) readDays(f *model.Field) string {
	if c.until < minutesPerDay {
		return "the preceding day does not end with Until: 24:00"
	}
	if c.date == nil {
		return "a date such as Through: 12/31 is missing before these days"
	}
	covered, fault := c.covered.with(f.Text)
	if fault == "" {
		c.covered = covered
		c.until, c.afterDays, c.interpolated = 0, true, false
	}
	return fault
}

func (c *compactSchedule) readInterpolation(f *model.Field) string {
	text, found := strings.CutPrefix(model.Fold(f.Text), "interpolate")
	named := slices.IndexFunc(interpolations, func(word string) bool { return strings.Contains(text, word) })
	switch {
	case named < 0 && found:
		return engine.Quote(f.Text) + " is not Interpolate: No, Average or Linear"
	case named < 0:
		return unknownWord(f)
	}
	c.interpolated = named > 0
	return ""
}

func (c *compactSchedule) readTime(f *model.Field, text string) string {
	if c.covered == 0 {
		return "days such as For: AllDays are missing before this time"
	}
	c.wantsValue = true
	return c.advance(f, text, c.interpolated)
}
