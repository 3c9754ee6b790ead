package energyplus

import (
	"slices"
	"strings"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// dayTypes is a set of the days that a schedule has values for. EnergyPlus numbers them from Sunday on.
type dayTypes uint16

// dayNames are the days in the order of their bits.
var dayNames = []string{
	"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday",
	"Holiday", "SummerDesignDay", "WinterDesignDay", "CustomDay1", "CustomDay2",
}

const (
	allDayTypes dayTypes = 1<<12 - 1
	weekdays    dayTypes = 0b0111110
	weekend     dayTypes = 0b1000001
)

// dayWords are what EnergyPlus looks for in the names of days, in its order. A word may stand anywhere in the text.
var dayWords = []struct {
	word string
	days dayTypes
}{
	{"weekday", weekdays},
	{"monday", 1 << 1},
	{"tuesday", 1 << 2},
	{"wednesday", 1 << 3},
	{"thursday", 1 << 4},
	{"friday", 1 << 5},
	{"weekend", weekend},
	{"saturday", 1 << 6},
	{"sunday", 1},
	{"customday1", 1 << 10},
	{"customday2", 1 << 11},
	{"allday", allDayTypes},
	{"holiday", 1 << 7},
	{"summer", 1 << 8},
	{"winter", 1 << 9},
}

// with returns the set with the days that a text names, and what is wrong with them.
func (d dayTypes) with(text string) (dayTypes, string) {
	folded := foldName(text)
	named := false
	for _, one := range dayWords {
		if !strings.Contains(folded, one.word) {
			continue
		}
		named = true
		if d&one.days != 0 {
			return d, engine.Quote(text) + " names days that have values already"
		}
		d |= one.days
	}
	if strings.Contains(folded, "allotherday") {
		d, named = allDayTypes, true
	}
	if !named {
		return d, engine.Quote(text) + " names no days"
	}
	return d, ""
}

// missing lists the days that are not in the set.
func (d dayTypes) missing() string {
	names := []string{}
	for i, name := range dayNames {
		if d&(1<<i) == 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// checkWeek checks that a Schedule:Week:Compact has each day once.
func (r *modelRun) checkWeek(o *modelObject) {
	covered := dayTypes(0)
	found := modelFinding{check: checkSchedules, code: "schedule", object: o}
	for i := range o.fields {
		f := &o.fields[i]
		if f.spec == nil || f.name != "daytype_list" || f.text == "" || f.isExpression() {
			continue
		}
		if covered, found.message = covered.with(f.text); found.message != "" {
			found.field = f
			r.find(found)
			return
		}
	}
	if covered != allDayTypes && !o.hasExpressions() {
		found.message = "no days are named for " + covered.missing()
		r.find(found)
	}
}

// checkYear checks that the weeks of a Schedule:Year cover each day of the year once.
func (r *modelRun) checkYear(o *modelObject) {
	covered := [lastDay + 1]bool{}
	found := modelFinding{check: checkSchedules, code: "schedule", object: o}
	if o.groups == 0 {
		return
	}
	for group := range o.groups {
		begin, end, last := o.weekOf(group)
		if last == nil {
			// Fields that are missing or no dates have findings of their own.
			return
		}
		for past := range (end-begin+lastDay)%lastDay + 1 {
			day := (begin+past-1)%lastDay + 1
			if covered[day] {
				found.field, found.message = last, "these days overlap with those of a week before"
				r.find(found)
				return
			}
			covered[day] = true
		}
	}
	// The 29th of February is like the day before.
	covered[leapDay] = covered[leapDay] || covered[leapDay-1]
	for day := 1; day <= lastDay; day++ {
		if !covered[day] {
			found.message = "no week has the " + nameOfDay(day)
			r.find(found)
			return
		}
	}
}

// weekOf returns the first and the last day of a week of a Schedule:Year, and the field of the last one. The field is
// nil where they are not known.
func (o *modelObject) weekOf(group int) (int, int, *modelField) {
	parts := map[string]int{}
	var last *modelField
	for i := range o.fields {
		f := &o.fields[i]
		if f.group != group {
			continue
		}
		if value, isNumber := f.number(); isNumber {
			parts[f.name] = int(value)
		}
		if f.name == "end_day" {
			last = f
		}
	}
	begin := ordinalOf(parts["start_month"], parts["start_day"])
	end := ordinalOf(parts["end_month"], parts["end_day"])
	if begin == 0 || end == 0 {
		return 0, 0, nil
	}
	return begin, end, last
}

// hasExpressions reports whether a field holds an expression, so that not all of the object is known.
func (o *modelObject) hasExpressions() bool {
	return slices.ContainsFunc(o.fields, func(f modelField) bool { return f.text != "" && f.isExpression() })
}
