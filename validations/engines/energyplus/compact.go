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
	faulty                bool
}

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
		if f.Group != group {
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
func (c *compactSchedule) finish(last *model.Field) {
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

func (c *compactSchedule) fail(f *model.Field, message string) {
	c.faulty = true
	c.run.findSchedule(c.object, f, message)
}

func (c *compactSchedule) read(f *model.Field) {
	if _, isNumber := f.Number(); isNumber {
		if !c.wantsValue {
			c.fail(f, "a time such as Until: 8:00 is missing before this value")
		}
		c.wantsValue = false
		return
	}
	if c.wantsValue && !f.IsExpression() {
		c.fail(f, engine.Quote(f.Text)+" is not a number")
		return
	}
	afterDays := c.afterDays
	c.afterDays = false
	switch {
	case f.IsExpression():
		// In place of a date, days or a time, what follows cannot be understood.
		c.faulty = !c.wantsValue
		c.wantsValue = false
	case throughWord.MatchString(f.Text):
		c.readThrough(f, strings.TrimSpace(throughWord.FindStringSubmatch(f.Text)[1]))
	case forWord.MatchString(f.Text):
		c.readDays(f)
	case untilWord.MatchString(f.Text):
		c.readTime(f, untilWord.FindStringSubmatch(f.Text)[1])
	case afterDays:
		c.readInterpolation(f)
	default:
		c.failWord(f)
	}
}

func (c *compactSchedule) failWord(f *model.Field) {
	c.fail(f, engine.Quote(f.Text)+" is not Through, For, Interpolate, Until or a number")
}

func (c *compactSchedule) readThrough(f *model.Field, date string) {
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

func (c *compactSchedule) readDays(f *model.Field) {
	if c.until < minutesPerDay {
		c.fail(f, "the preceding day does not end with Until: 24:00")
		return
	}
	if c.date == nil {
		c.fail(f, "a date such as Through: 12/31 is missing before these days")
		return
	}
	covered, fault := c.covered.with(f.Text)
	if fault != "" {
		c.fail(f, fault)
		return
	}
	c.covered = covered
	c.until, c.afterDays, c.interpolated = 0, true, false
}

func (c *compactSchedule) readInterpolation(f *model.Field) {
	text, found := strings.CutPrefix(model.Fold(f.Text), "interpolate")
	named := slices.IndexFunc(interpolations, func(word string) bool { return strings.Contains(text, word) })
	switch {
	case named < 0 && found:
		c.fail(f, engine.Quote(f.Text)+" is not Interpolate: No, Average or Linear")
	case named < 0:
		c.failWord(f)
	}
	c.interpolated = named > 0
}

func (c *compactSchedule) readTime(f *model.Field, text string) {
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
