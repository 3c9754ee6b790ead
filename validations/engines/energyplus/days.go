package energyplus

import (
	"strings"

	"github.com/simplevalidations/simplevalidations/validations/engines/energyplus/model"
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
	folded := model.Fold(text)
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
func (r *modelRun) checkWeek(o *model.Object) {
	covered := dayTypes(0)
	for i := range o.Fields {
		f := &o.Fields[i]
		if f.Spec == nil || f.Name != "daytype_list" || f.Text == "" || f.IsExpression() {
			continue
		}
		days, fault := covered.with(f.Text)
		if fault != "" {
			r.findSchedule(o, f, fault)
			return
		}
		covered = days
	}
	if covered != allDayTypes && !o.HasExpressions() {
		r.findSchedule(o, nil, "no days are named for "+covered.missing())
	}
}

// checkYear checks that the weeks of a Schedule:Year cover each day of the year once.
func (r *modelRun) checkYear(o *model.Object) {
	covered := [lastDay + 1]bool{}
	if o.Groups == 0 {
		return
	}
	for group := range o.Groups {
		begin, end, last := weekOf(o, group)
		if last == nil {
			// Fields that are missing or no dates have findings of their own.
			return
		}
		for past := range (end-begin+lastDay)%lastDay + 1 {
			day := (begin+past-1)%lastDay + 1
			if covered[day] {
				r.findSchedule(o, last, "these days overlap with those of a week before")
				return
			}
			covered[day] = true
		}
	}
	// The 29th of February is like the day before.
	covered[leapDay] = covered[leapDay] || covered[leapDay-1]
	for day := 1; day <= lastDay; day++ {
		if !covered[day] {
			r.findSchedule(o, nil, "no week has the "+dayIn(1, day).Format("1/2"))
			return
		}
	}
}

// weekOf returns the first and the last day of a week of a Schedule:Year, and the field of the last one. The field is
// nil where they are not known.
func weekOf(o *model.Object, group int) (int, int, *model.Field) {
	parts := map[string]int{}
	var last *model.Field
	for i := range o.Fields {
		f := &o.Fields[i]
		if f.Group != group {
			continue
		}
		if value, isNumber := f.Number(); isNumber {
			parts[f.Name] = int(value)
		}
		if f.Name == "end_day" {
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
