package energyplus

import (
	"fmt"
	"math"
	"strings"
)

// checkDates finds days that their month does not have, in fields such as begin_month and begin_day_of_month. The
// dictionary bounds each of the two alone.
func (r *modelRun) checkDates() {
	for _, o := range r.model.objects {
		if o.spec == nil {
			continue
		}
		for i := range o.fields {
			if month := o.monthOf(i); month != nil {
				r.checkDay(o, month, &o.fields[i])
			}
		}
	}
}

// monthOf returns the month of the date whose day is the field at a place, wherever it stands among the fields of the
// object or of its group. It is nil where the field is not a day.
func (o *modelObject) monthOf(at int) *modelField {
	day := &o.fields[at]
	prefix, isDay := strings.CutSuffix(day.name, "day_of_month")
	if !isDay {
		prefix, isDay = strings.CutSuffix(day.name, "_day")
		prefix += "_"
	}
	if !isDay || day.spec == nil {
		return nil
	}
	first := at
	for first > 0 && o.fields[first-1].group == day.group {
		first--
	}
	for i := first; i < len(o.fields) && o.fields[i].group == day.group; i++ {
		if o.fields[i].name == prefix+"month" {
			return &o.fields[i]
		}
	}
	return nil
}

func (r *modelRun) checkDay(o *modelObject, month, day *modelField) {
	inYear, isMonth := month.number()
	ofMonth, isDay := day.number()
	isMonth = isMonth && inYear >= 1 && inYear <= 12 && inYear == math.Trunc(inYear)
	// Invalid months and days above 31 are reported by the range of their field.
	if !isMonth || !isDay || ofMonth <= float64(daysOf(int(inYear))) || ofMonth > 31 {
		return
	}
	r.find(modelFinding{
		check: checkValues, code: "field_range", object: o, field: day,
		message: fmt.Sprintf("month %g has no day %g", inYear, ofMonth),
	})
}

// daysOf is the number of days of a month in a leap year.
func daysOf(month int) int {
	switch month {
	case 2:
		return 29
	case 4, 6, 9, 11:
		return 30
	default:
		return 31
	}
}
