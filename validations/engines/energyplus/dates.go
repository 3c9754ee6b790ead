package energyplus

import (
	"fmt"
	"math"
	"strings"

	"github.com/simplevalidations/simplevalidations/validations/engines/energyplus/model"
)

// checkDates finds days that their month does not have, in fields such as begin_month and begin_day_of_month. The
// dictionary bounds each of the two alone.
func (r *modelRun) checkDates() {
	for o := range r.Model.Known() {
		for i := range o.Fields {
			if month := monthOf(o, i); month != nil {
				r.checkDay(o, month, &o.Fields[i])
			}
		}
	}
}

// monthOf returns the month of the date whose day is the field at a place, wherever it stands among the fields of the
// object or of its group. It is nil where the field is not a day.
func monthOf(o *model.Object, at int) *model.Field {
	day := &o.Fields[at]
	prefix, isDay := strings.CutSuffix(day.Name, "day_of_month")
	if !isDay {
		prefix, isDay = strings.CutSuffix(day.Name, "_day")
		prefix += "_"
	}
	if !isDay || day.Spec == nil {
		return nil
	}
	first := at
	for first > 0 && o.Fields[first-1].Group == day.Group {
		first--
	}
	for i := first; i < len(o.Fields) && o.Fields[i].Group == day.Group; i++ {
		if o.Fields[i].Name == prefix+"month" {
			return &o.Fields[i]
		}
	}
	return nil
}

func (r *modelRun) checkDay(o *model.Object, month, day *model.Field) {
	inYear, isMonth := month.Number()
	ofMonth, isDay := day.Number()
	isMonth = isMonth && inYear >= 1 && inYear <= 12 && inYear == math.Trunc(inYear)
	// Invalid months and days above 31 are reported by the range of their field.
	if !isMonth || !isDay || ofMonth < 1 || ofMonth > 31 || ordinalOf(int(inYear), int(math.Ceil(ofMonth))) > 0 {
		return
	}
	r.Add(model.CheckValues, "field_range", o, day, fmt.Sprintf("month %g has no day %g", inYear, ofMonth))
}
